internal import Bulkhead
internal import Postgres

/// What an earlier try of a statement outside a transaction may have left behind.
struct Leftovers {
    private let statement: SQLStatement
    private let before: [Int64]
    private let isFirst: Bool

    /// Knows the indexes that were there before the first try, and whether this is the first.
    init(_ statement: SQLStatement, before: [Int64], isFirst: Bool) {
        self.statement = statement
        self.before = before
        self.isFirst = isFirst
    }

    /// The indexes that are there: all of the table that gets one, and those that are not valid.
    static func present(_ statement: SQLStatement, _ connection: Connection) throws -> [Int64] {
        let rows = try connection.query(
            """
            select i.indexrelid::bigint from pg_catalog.pg_index i
            where not i.indisvalid or i.indrelid = pg_catalog.to_regclass(\(statement.indexedTable))
            order by 1
            """
        )
        return try (0..<rows.count).map { try rows.required($0, 0) }
    }

    /// Whether an earlier try has done it all.
    func isDone(_ connection: Connection) throws -> Bool {
        guard !isFirst else { return false }
        if statement.createsIndex { return try hasIndex(connection) }
        if statement.begins(with: "drop", "index"), let index = statement.index {
            return try connection.query("select pg_catalog.to_regclass(\(index.written)) is null")
                .required(0, 0)
        }
        if let (parent, partition) = statement.detachment {
            return try connection.query(
                """
                select not exists (
                    select from pg_catalog.pg_inherits where inhrelid = pg_catalog.to_regclass(\(partition))
                        and inhparent = pg_catalog.to_regclass(\(parent)))
                """
            ).required(0, 0)
        }
        return false
    }

    /// Whether the index that the statement makes is good now; true for other statements.
    func isSound(_ connection: Connection) throws -> Bool {
        guard statement.createsIndex, !statement.contains("if", "not", "exists") else {
            return true
        }
        return try hasIndex(connection)
    }

    /// Whether there is a good index that was not there before the first try.
    private func hasIndex(_ connection: Connection) throws -> Bool {
        try connection.query(
            """
            select exists (
                select from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indexrelid
                where i.indrelid = pg_catalog.to_regclass(\(statement.indexedTable))
                    and i.indisvalid and i.indisready and i.indexrelid <> all (\(before)::oid[])
                    and c.relname = coalesce(\(statement.index?.name), c.relname))
            """
        ).required(0, 0)
    }

    /// What ends a statement that was interrupted half-way; nil where it is to be run again.
    func finishing(_ connection: Connection) throws -> String? {
        guard let (parent, partition) = statement.detachment else { return nil }
        let isPending: Bool = try connection.query(
            """
            select exists (
                select from pg_catalog.pg_inherits where inhrelid = pg_catalog.to_regclass(\(partition))
                    and inhdetachpending)
            """
        ).required(0, 0)
        return isPending ? "alter table \(parent) detach partition \(partition) finalize" : nil
    }

    /// Drops indexes that are not valid and that nobody builds: those that came since the first try, and one that
    /// has the name of the index to be made.
    func drop(_ connection: Connection) throws {
        let rows = try connection.query(
            """
            select pg_catalog.format('%I.%I', n.nspname, c.relname)
            from pg_catalog.pg_index i
            join pg_catalog.pg_class c on c.oid = i.indexrelid and c.relkind = 'i'
            join pg_catalog.pg_namespace n on n.oid = c.relnamespace and n.nspname <> 'pg_toast'
            where not i.indisvalid and not c.relispartition
                and (i.indrelid = pg_catalog.to_regclass(\(statement.indexedTable))
                        and (i.indexrelid <> all (\(before)::oid[]) or c.relname = \(statement.index?.name))
                    or \(statement.begins(with: "reindex")) and i.indexrelid <> all (\(before)::oid[])
                        and c.relname ~ '_cc(new|old)[0-9]*$')
                and not exists (
                    select from pg_catalog.pg_stat_progress_create_index p where p.index_relid = i.indexrelid)
                and pg_catalog.pg_has_role(c.relowner, 'USAGE')
            """
        )
        for name in try (0..<rows.count).map({ try rows.required($0, 0, as: String.self) }) {
            try connection.query(SQL(unsafe: "drop index concurrently if exists \(name)"))
        }
    }
}
