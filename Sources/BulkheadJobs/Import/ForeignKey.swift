internal import Postgres

/// A foreign key of the table whose columns all come from the file.
struct ForeignKey {
    /// The positions of its columns among those that the file fills.
    let columns: [Int]
    /// The table that it refers to, quoted for SQL.
    let referenced: String
    private let referencedColumns: [String]
    /// Where the table refers to itself, the positions of the columns that it refers to.
    private let ownColumns: [Int]?

    /// Looks up the key that an error names; nil when the file does not fill all of its columns, or a
    /// trigger may fill them.
    init?(_ error: PostgresError, _ plan: ImportPlan, _ connection: Connection) throws {
        guard let schema = error.schema, let table = error.table, let constraint = error.constraint,
            !plan.target.facts.hasTriggers
        else { return nil }
        let rows = try connection.query(
            """
            select a.attname, f.attname, pg_catalog.format('%I.%I', fn.nspname, fc.relname),
                c.confrelid = \(plan.target.oid)::oid
            from pg_catalog.pg_constraint c
            join pg_catalog.pg_class t on t.oid = c.conrelid
            join pg_catalog.pg_namespace n on n.oid = t.relnamespace
            join pg_catalog.pg_class fc on fc.oid = c.confrelid
            join pg_catalog.pg_namespace fn on fn.oid = fc.relnamespace
            cross join lateral unnest(c.conkey, c.confkey) with ordinality as k (attnum, fattnum, n)
            join pg_catalog.pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.attnum
            join pg_catalog.pg_attribute f on f.attrelid = c.confrelid and f.attnum = k.fattnum
            where n.nspname = \(schema) and t.relname = \(table) and c.conname = \(constraint)
                and c.contype = 'f' and c.confmatchtype = 's'
            order by k.n
            """
        )
        guard !rows.isEmpty else { return nil }
        var columns: [Int] = []
        var referencedColumns: [String] = []
        for row in 0..<rows.count {
            let name: String = try rows.required(row, 0)
            guard let column = plan.columns.firstIndex(where: { $0.name == name }) else {
                return nil
            }
            columns.append(column)
            referencedColumns.append(try rows.required(row, 1))
        }
        self.columns = columns
        self.referencedColumns = referencedColumns
        referenced = try rows.required(0, 2)
        if try rows.required(0, 3) {
            let own = referencedColumns.compactMap { name in
                plan.columns.firstIndex { $0.name == name }
            }
            guard own.count == referencedColumns.count else { return nil }
            ownColumns = own
        } else {
            ownColumns = nil
        }
    }

    /// Deletes the staged rows that refer to nothing, neither in the table nor among the staged.
    func deleteOrphans(from stage: String) -> SQL {
        let present = columns.map { "s.bulkhead_c\($0 + 1) is not null" }
        let there = zip(referencedColumns, columns).map { name, column in
            "r.\(quoted(identifier: name)) = s.bulkhead_c\(column + 1)"
        }
        var conditions = present
        conditions.append(
            "not exists (select from \(referenced) r where \(there.joined(separator: " and ")))"
        )
        if let ownColumns {
            let staged = zip(ownColumns, columns).map { own, column in
                "o.bulkhead_c\(own + 1) = s.bulkhead_c\(column + 1)"
            }
            conditions.append(
                "not exists (select from \(stage) o where \(staged.joined(separator: " and ")))"
            )
        }
        return SQL(
            unsafe:
                "delete from \(stage) s where \(conditions.joined(separator: " and ")) returning bulkhead_n"
        )
    }
}
