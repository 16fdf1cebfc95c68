internal import Bulkhead
internal import Postgres

/// A row that a backfill could not insert, since another one has its place in a unique index.
struct BackfillConflict: Error {
    /// What the server said: it names the value, and neither row.
    let error: PostgresError
    let work: BackfillStatement
    /// The statement that failed.
    let text: String

    /// The keys of two rows that cannot both be there; nil where they cannot be found.
    ///
    /// The statement runs again into a copy of the table without indexes, and nothing of it stays.
    func keys(_ usePath: (Connection) throws -> Void, _ connection: Connection) throws -> String? {
        do {
            return try connection.transaction { connection in
                try usePath(connection)
                guard let index = try Index(error, work.target.written, connection) else {
                    return nil
                }
                try connection.query(
                    SQL(
                        unsafe:
                            "create temporary table bulkhead_conflict (like \(index.table)) on commit drop"
                    )
                )
                try connection.query(
                    SQL(unsafe: work.target.replaced(in: text, by: "pg_temp.bulkhead_conflict"))
                )
                let rows = try connection.query(SQL(unsafe: index.pair))
                return rows.isEmpty ? nil : try rows.value(0, 0)
            }
        } catch let error as PostgresError where error.isFinal {
            return nil
        }
    }

    /// The unique index that two rows met in.
    private struct Index {
        let table: String
        /// The columns of the index, and of the primary key, quoted for SQL.
        private let columns: [String]
        private let key: [String]

        init?(_ error: PostgresError, _ written: String, _ connection: Connection) throws {
            let row = try connection.query(
                """
                select pg_catalog.format('%I.%I', n.nspname, t.relname),
                    (select pg_catalog.json_agg(pg_catalog.quote_ident(a.attname)) from pg_catalog.pg_attribute a
                     where a.attrelid = t.oid and a.attnum = any (i.indkey))::text,
                    (select pg_catalog.json_agg(pg_catalog.quote_ident(a.attname)) from pg_catalog.pg_attribute a
                     where a.attrelid = t.oid and a.attnum = any (p.indkey))::text
                from pg_catalog.pg_class t
                join pg_catalog.pg_namespace n on n.oid = t.relnamespace
                join pg_catalog.pg_index i on i.indrelid = t.oid and i.indexprs is null and not i.indisprimary
                join pg_catalog.pg_class c on c.oid = i.indexrelid and c.relname = \(error.constraint)
                join pg_catalog.pg_index p on p.indrelid = t.oid and p.indisprimary
                where t.oid = pg_catalog.to_regclass(\(written))
                """
            )
            guard !row.isEmpty else { return nil }
            table = try row.required(0, 0)
            columns = try row.required(0, 1, as: JSONText.self).decode()
            key = try row.required(0, 2, as: JSONText.self).decode()
        }

        var pair: String {
            func list(_ names: [String], _ alias: String) -> String {
                names.map { "\(alias).\($0)" }.joined(separator: ", ")
            }
            return """
                select pg_catalog.concat('the keys are ', pg_catalog.concat_ws(', ', \(list(key, "o"))), ' and ',
                    pg_catalog.concat_ws(', ', \(list(key, "n"))))
                from pg_temp.bulkhead_conflict n
                join (select * from \(table) union all select * from pg_temp.bulkhead_conflict) o
                    on row(\(list(columns, "o"))) = row(\(list(columns, "n")))
                    and row(\(list(key, "o"))) <> row(\(list(key, "n")))
                order by 1 limit 1
                """
        }
    }
}
