internal import Bulkhead
internal import Postgres

/// Where the rows of a purge go, and the record of it that a restore follows.
final class Archive {
    private let job: Int64
    private let place: ArchiveTarget
    private let batchNumber: () -> Int64

    /// Makes the archive ready.
    ///
    /// - Throws: `JobFailure` where not all that the purge takes away could be archived.
    init(
        _ context: JobContext,
        _ arguments: PurgeArguments,
        _ table: PurgeTable,
        _ graph: ReferenceGraph,
        _ root: ImportRoot
    ) async throws {
        job = context.job.id
        batchNumber = { context.batches + 1 }
        let ground = try await context.read { try PurgeGround(table.oid, of: table, $0) }
        if let name = arguments.archiveTable {
            place = .table(
                try await context.read { connection in
                    try ArchiveTable(name, for: ground, connection)
                }
            )
        } else {
            let base = (arguments.archiveFile ?? "").dropLast(".jsonl.gz".count)
            let name = "\(base).\(context.job.id)-\(context.job.attempt).jsonl.gz"
            place = .file(try ArchiveFile(name, in: root))
        }
    }

    func target(for ground: PurgeGround) -> ArchiveTarget { place }

    /// Records what a batch has archived, in its own transaction.
    ///
    /// - Returns: How many rows.
    func record(_ ground: PurgeGround, _ outcome: RemovalOutcome, _ batch: Batch) throws -> Int64 {
        let columns = ground.columns.map(\.name)
        switch place {
        case .table(let table):
            guard outcome.deleted > 0 else { return 0 }
            try batch.connection.query(
                """
                insert into bulkhead.archive_block (job, batch, n, relation, operation, columns, archive, rows)
                values (\(job), \(batchNumber()), 0, \(ground.name), 'delete', \(columns), \(table.name),
                    \(outcome.deleted))
                """
            )
            return Int64(outcome.deleted)
        case .file(let file):
            guard let block = try file.finish() else { return 0 }
            try batch.connection.query(
                """
                insert into bulkhead.archive_block (job, batch, n, relation, operation, columns, file, host,
                    byte_offset, bytes, checksum, rows)
                select \(job), \(batchNumber()), 0, \(ground.name), 'delete', \(columns), \(file.name), j.host,
                    \(block.offset), \(block.bytes), \(block.checksum), \(block.rows)
                from bulkhead.job j where j.id = \(job)
                """
            )
            return block.rows
        }
    }

    /// The batch is committed.
    func keep() {
        if case .file(let file) = place { file.keep() }
    }
}
