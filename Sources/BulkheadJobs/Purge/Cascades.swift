internal import Bulkhead
internal import Postgres

/// What a batch's deletes do to other tables by their foreign keys, as the server's own count of the rows that
/// this transaction has touched tells it.
struct Cascades {
    private let tables: [Counted]

    private struct Counted {
        let reference: Reference
        let deleted: Int64
        let updated: Int64
    }

    /// Takes the count before the batch.
    init(_ graph: ReferenceGraph, _ connection: Connection) throws {
        tables = try graph.touched.map { reference in
            let count = try Self.count(reference, connection)
            return Counted(reference: reference, deleted: count.deleted, updated: count.updated)
        }
    }

    /// Tells the readers of tables in which nobody records what happened to read again.
    ///
    /// - Returns: How many rows of other tables were deleted.
    func publish(_ batch: Batch) throws -> Int64 {
        var cascaded: Int64 = 0
        for table in tables {
            let now = try Self.count(table.reference, batch.connection)
            cascaded += max(0, now.deleted - table.deleted)
            if !table.reference.facts.isTracked,
                !now.isCounted || now.deleted > table.deleted || now.updated > table.updated
            {
                try batch.publish(.reset, of: table.reference.facts.relation, ids: nil)
            }
        }
        return cascaded
    }

    private static func count(
        _ reference: Reference,
        _ connection: Connection
    ) throws -> (deleted: Int64, updated: Int64, isCounted: Bool) {
        let row = try connection.query(
            """
            select coalesce(sum(pg_catalog.pg_stat_get_xact_tuples_deleted(m.oid)), 0)::bigint,
                coalesce(sum(pg_catalog.pg_stat_get_xact_tuples_updated(m.oid)), 0)::bigint,
                pg_catalog.current_setting('track_counts') = 'on'
            from pg_catalog.unnest(\(unsafe: PurgeTable.members("\(reference.childOID)::oid"))) as m (oid)
            """
        )
        return (try row.required(0, 0), try row.required(0, 1), try row.required(0, 2))
    }
}
