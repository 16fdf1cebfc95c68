internal import Bulkhead
internal import Postgres

/// The locks of all tables of a step, taken before its first statement: whoever takes them one by one, in between
/// its work, keeps the first ones for as long as it waits for the last.
struct StepLocks {
    /// What is locked, the name as SQL.
    private let locks: [(oid: Int64, name: String, mode: LockMode)]

    /// A lock that was not given in time.
    struct Refused: Error {
        /// The table and the mode; nil where a statement asked for a lock that its words do not tell.
        let wanted: (oid: Int64, name: String, mode: LockMode)?
        let statement: SQLStatement?
    }

    /// Finds the tables that are there, and that the role may lock.
    init(_ statements: [SQLStatement], _ connection: Connection) throws {
        var order: [Int64] = []
        var found: [Int64: (oid: Int64, name: String, mode: LockMode)] = [:]
        for target in statements.flatMap(\.lockTargets) {
            guard let (oid, name) = try Self.table(target, connection) else { continue }
            if found[oid] == nil { order.append(oid) }
            found[oid] = (oid, name, max(target.mode, found[oid]?.mode ?? target.mode))
        }
        locks = order.compactMap { found[$0] }
    }

    /// The tables' oids.
    var relations: [Int64] { locks.map(\.oid) }

    /// Takes them, within the time in all.
    ///
    /// - Throws: `Refused`.
    func take(within rung: Duration, _ connection: Connection) throws {
        let start = ContinuousClock.now
        for lock in locks {
            try Self.limit(max(.milliseconds(1), rung - (.now - start)), connection)
            do throws(PostgresError) {
                try connection.query(
                    SQL(unsafe: "lock table \(lock.name) in \(lock.mode.rawValue) mode")
                )
            } catch {
                guard error.state == .lockNotAvailable else { throw error }
                throw Refused(wanted: lock, statement: nil)
            }
        }
    }

    /// Sets how long a statement may wait for a lock: anew before each, since a file may set it too.
    static func limit(_ time: Duration, _ connection: Connection) throws {
        let milliseconds = Int64(time / .milliseconds(1))
        try connection.query(
            """
            select pg_catalog.set_config('lock_timeout', \("\(milliseconds)ms"), true),
                pg_catalog.set_config('statement_timeout', '0', true)
            """
        )
    }

    private static func table(
        _ target: LockTarget,
        _ connection: Connection
    ) throws -> (Int64, String)? {
        let row = try connection.query(
            """
            select c.oid::bigint, pg_catalog.format('%s%I.%I', case when \(target.isOnly) then 'only ' end,
                n.nspname, c.relname)
            from pg_catalog.pg_class named
            left join pg_catalog.pg_index i on i.indexrelid = named.oid
            join pg_catalog.pg_class c on c.oid = coalesce(i.indrelid, named.oid)
            join pg_catalog.pg_namespace n on n.oid = c.relnamespace
            where named.oid = pg_catalog.to_regclass(\(target.name)) and c.relkind in ('r', 'p')
                and (pg_catalog.pg_has_role(c.relowner, 'USAGE')
                    or pg_catalog.has_table_privilege(c.oid, 'UPDATE, DELETE, TRUNCATE'))
            """
        )
        guard !row.isEmpty else { return nil }
        return (try row.required(0, 0), try row.required(0, 1))
    }
}
