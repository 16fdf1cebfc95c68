internal import Bulkhead
internal import Postgres

/// Runs statements and sees in the catalogs what they do to the tables that were there before them.
struct StatementObserver {
    let connection: Connection

    private struct Snapshot {
        var locks: [Int64: LockMode] = [:]
        var filenodes: [Int64: Int64] = [:]
        var scans: [Int64: Int64] = [:]
        var indexes: [Int64: [String: Int64]] = [:]
        var names: [Int64: String] = [:]
    }

    /// Lets the checks of foreign keys read their tables as they do where these are large.
    static func prepare(_ connection: Connection) throws {
        try connection.run(
            script: """
                set enable_indexscan = off; set enable_indexonlyscan = off; set enable_bitmapscan = off
                """
        )
    }

    /// Runs a statement inside the open transaction.
    func observe(_ statement: String) throws -> [TableEffect] {
        let before = try snapshot()
        try connection.query(SQL(unsafe: statement))
        let after = try snapshot()
        let effects = before.names.sorted { $0.value < $1.value }.compactMap {
            oid,
            name -> TableEffect? in
            var effect = TableEffect(table: name)
            let held = after.locks[oid]
            if held != before.locks[oid] { effect.lock = held }
            // A table that is gone was locked as strongly as can be.
            guard after.names[oid] != nil else { return effect }
            effect.isRewritten = after.filenodes[oid] != before.filenodes[oid]
            let built = (after.indexes[oid] ?? [:]).filter { index, filenode in
                filenode != 0 && before.indexes[oid]?[index] != filenode
            }
            effect.builtIndexes = built.keys.sorted()
            effect.isScanned = (after.scans[oid] ?? 0) > (before.scans[oid] ?? 0)
            // The transaction may have had it from an earlier statement.
            if effect.isLong { effect.lock = held }
            return effect.lock == nil && !effect.isLong ? nil : effect
        }
        return readingBothTablesOfAKey(effects)
    }

    /// The check of a foreign key reads both tables; where the first has no rows it need not open the second.
    private func readingBothTablesOfAKey(_ effects: [TableEffect]) -> [TableEffect] {
        let locked = effects.filter { $0.lock == .shareRowExclusive }
        guard locked.count > 1, locked.contains(where: \.isScanned) else { return effects }
        return effects.map { effect in
            var effect = effect
            if effect.lock == .shareRowExclusive { effect.isScanned = true }
            return effect
        }
    }

    private func snapshot() throws -> Snapshot {
        var snapshot = Snapshot()
        let rows = try connection.query(
            """
            select c.oid::bigint, pg_catalog.format('%I.%I', n.nspname, c.relname),
                coalesce(pg_catalog.pg_relation_filenode(c.oid), 0)::bigint,
                pg_catalog.pg_stat_get_xact_numscans(c.oid),
                (select pg_catalog.json_object_agg(x.relname, coalesce(pg_catalog.pg_relation_filenode(x.oid), 0)::bigint)
                 from pg_catalog.pg_index i join pg_catalog.pg_class x on x.oid = i.indexrelid
                 where i.indrelid = c.oid)::text,
                (select pg_catalog.string_agg(l.mode, ',') from pg_catalog.pg_locks l
                 where l.pid = pg_catalog.pg_backend_pid() and l.locktype = 'relation' and l.granted
                     and l.relation = c.oid
                     and l.database = (select d.oid from pg_catalog.pg_database d
                                       where d.datname = pg_catalog.current_database()))
            from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
            where c.relkind in ('r', 'p', 'm') and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
            """
        )
        for row in 0..<rows.count {
            let oid: Int64 = try rows.required(row, 0)
            snapshot.names[oid] = try rows.required(row, 1)
            snapshot.filenodes[oid] = try rows.required(row, 2)
            snapshot.scans[oid] = try rows.required(row, 3)
            snapshot.indexes[oid] = try rows.value(row, 4, as: JSONText.self)?.decode()
            snapshot.locks[oid] = try rows.value(row, 5, as: String.self)?
                .split(separator: ",").compactMap { LockMode(shown: String($0)) }.max()
        }
        return snapshot
    }
}
