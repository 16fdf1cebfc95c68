internal import Postgres

/// What a purge leaves behind for vacuum.
enum DeadRows {
    /// Vacuums a table; the server's count of dead rows is then right.
    static func vacuum(_ table: PurgeTable, _ connection: Connection) throws {
        try reportOwn(connection)
        try connection.query(SQL(unsafe: "vacuum (analyze) \(table.name)"))
    }

    /// What this session has deleted reaches the statistics only now and then.
    private static func reportOwn(_ connection: Connection) throws {
        try connection.query("select pg_catalog.pg_stat_force_next_flush()")
    }

    /// The share of a table's rows that are dead, from 0 to 1; nil for an empty table.
    static func share(of table: PurgeTable, _ connection: Connection) throws -> Double? {
        try reportOwn(connection)
        return try connection.query(
            """
            select pg_catalog.round(sum(pg_catalog.pg_stat_get_dead_tuples(m.oid)) / nullif(
                sum(pg_catalog.pg_stat_get_dead_tuples(m.oid) + pg_catalog.pg_stat_get_live_tuples(m.oid)), 0), 3)
            from pg_catalog.unnest(\(unsafe: PurgeTable.members("\(table.oid)::oid"))) as m (oid)
            """
        ).value(0, 0)
    }
}
