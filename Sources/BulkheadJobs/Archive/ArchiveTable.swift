internal import Bulkhead
internal import Postgres

/// A table that holds archived rows, each with the job and the batch that took it.
struct ArchiveTable {
    /// Quoted for SQL.
    let name: String

    /// Makes the table like another one, unless it is there, and sees to it that it can take the rows.
    ///
    /// - Throws: `JobFailure` when it cannot.
    init(
        _ name: String,
        for source: PurgeGround,
        _ connection: Connection
    ) throws {
        self.name = name
        let found = try connection.query("select pg_catalog.to_regclass(\(name)) is not null")
        if try !found.required(0, 0, as: Bool.self) {
            try create(like: source.name, connection)
        }
        try check(source, connection)
    }

    /// A name with something behind it, quoted for SQL; where it would be too long its own part is cut.
    static func name(_ name: String, suffix: String?, _ connection: Connection) throws -> String {
        try connection.query(
            """
            select pg_catalog.format('%I.%I', n[1], pg_catalog.concat_ws('_',
                case when pg_catalog.octet_length(pg_catalog.concat_ws('_', n[2], \(suffix)::text)) > 63
                    then pg_catalog.left(n[2], 12) else n[2] end, \(suffix)::text)::name)
            from pg_catalog.parse_ident(\(name)) as n
            """
        ).required(0, 0)
    }

    private func create(like source: String, _ connection: Connection) throws {
        do throws(PostgresError) {
            try connection.run(
                script: """
                    create table \(name) (like \(source), purged_by bigint not null, purged_batch bigint not null);
                    create index on \(name) (purged_by, purged_batch)
                    """
            )
        } catch {
            guard error.kind == .permission else { throw error }
            throw JobFailure(
                "the archive table \(name) is missing, and this role may not create it (\(error.message)): create "
                    + "it like \(source) with two columns more, purged_by bigint and purged_batch bigint",
                sqlstate: error.state?.rawValue
            )
        }
    }

    private func check(_ source: PurgeGround, _ connection: Connection) throws {
        let columns = source.columns.map(\.name) + ["purged_by", "purged_batch"]
        let row = try connection.query(
            """
            select case
                when c.relkind not in ('r', 'p') then 'is not a table'
                when c.relpersistence <> 'p' then 'is not kept by a crash: purge into a plain table'
                when c.oid = \(source.oid)::oid then 'is the table that is purged'
                when missing.names is not null then 'lacks the column ' || missing.names
                when not pg_catalog.has_table_privilege(c.oid, 'INSERT') then 'may not be inserted into by this role'
            end
            from pg_catalog.pg_class c
            cross join lateral (
                select pg_catalog.string_agg(w.name, ', ') as names from pg_catalog.unnest(\(columns)::text[]) w (name)
                where not exists (
                    select from pg_catalog.pg_attribute a
                    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                        and pg_catalog.quote_ident(a.attname) = w.name)) as missing
            where c.oid = pg_catalog.to_regclass(\(name))
            """
        )
        if let problem: String = try row.value(0, 0) {
            throw JobFailure("the archive table \(name) \(problem)")
        }
    }

    /// Inserts rows that a part of the same statement returns.
    func insertion(of columns: [ArchivedColumn], from rows: String, job: Int64, batch: Int64)
        -> String
    {
        let list = columns.map(\.name).joined(separator: ", ")
        return """
            insert into \(name) (\(list), purged_by, purged_batch) overriding system value
            select \(list), \(job), \(batch) from \(rows)
            """
    }
}
