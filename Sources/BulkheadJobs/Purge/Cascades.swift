internal import Bulkhead
internal import Postgres

/// What a batch's deletes do to other tables by their foreign keys, as the server's own count of the rows that
/// this transaction has touched tells it.
final class Cascades {
    private let references: [Reference]
    private var before: [Count] = []

    private struct Count {
        let deleted: Int64
        let updated: Int64
        let isReliable: Bool
    }

    init(_ graph: ReferenceGraph) {
        references = graph.touched
    }

    /// Takes the count before a try: it goes on counting what was rolled back.
    func begin(_ connection: Connection) throws {
        before = try references.map { try count($0, connection) }
    }

    /// Tells the readers of tables in which nobody records what happened to read again.
    ///
    /// - Parameters:
    ///   - own: How many rows the batch itself has deleted, and has recorded.
    ///   - table: Of which table.
    ///   - batch: Where they were deleted.
    /// - Returns: How many rows went with them.
    /// - Throws: What the server says.
    func publish(own: Int64, of table: Int64, _ batch: Batch) throws -> Int64 {
        var cascaded: Int64 = 0
        for (reference, before) in zip(references, before) {
            let now = try count(reference, batch.connection)
            // A table may refer to itself.
            let deleted = now.deleted - before.deleted - (reference.childOID == table ? own : 0)
            cascaded += deleted
            let isTouched = deleted > 0 || now.updated > before.updated
            if !reference.facts.isTracked, isTouched || !now.isReliable {
                try batch.publish(.reset, of: reference.facts.relation, ids: nil)
            }
        }
        return cascaded
    }

    private func count(_ reference: Reference, _ connection: Connection) throws -> Count {
        let row = try connection.query(
            """
            select coalesce(sum(pg_catalog.pg_stat_get_xact_tuples_deleted(m.oid)), 0)::bigint,
                coalesce(sum(pg_catalog.pg_stat_get_xact_tuples_updated(m.oid)), 0)::bigint,
                pg_catalog.current_setting('track_counts') = 'on'
            from pg_catalog.unnest(\(unsafe: PurgeTable.members("\(reference.childOID)::oid"))) as m (oid)
            """
        )
        return Count(
            deleted: try row.required(0, 0),
            updated: try row.required(0, 1),
            isReliable: try row.required(0, 2)
        )
    }
}
