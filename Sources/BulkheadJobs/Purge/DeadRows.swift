internal import Postgres

/// What a purge leaves behind for vacuum.
enum DeadRows {
    /// The share of a table's rows that are dead, from 0 to 1; nil for an empty table.
    static func share(of table: PurgeTable, _ connection: Connection) throws -> Double? {
        try connection.query("select pg_catalog.pg_stat_force_next_flush()")
        return try connection.query(
            """
            select pg_catalog.round(sum(pg_catalog.pg_stat_get_dead_tuples(m.oid)) / nullif(
                sum(pg_catalog.pg_stat_get_dead_tuples(m.oid) + pg_catalog.pg_stat_get_live_tuples(m.oid)), 0), 3)
            from pg_catalog.unnest(\(unsafe: PurgeTable.members("\(table.oid)::oid"))) as m (oid)
            """
        ).value(0, 0)
    }
}
