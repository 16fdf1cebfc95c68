internal import Bulkhead
internal import Postgres

/// One attempt at a restore.
///
/// The batches of the purge are undone in the opposite order, so that each finds what it refers to.
final class RestoreRun {
    private let context: JobContext
    private let arguments: RestoreArguments
    private let root: ImportRoot

    private struct Checkpoint: Codable {
        /// The batch of the purge that was undone last.
        var batch: Int64
    }

    init(_ context: JobContext, _ root: ImportRoot) throws {
        self.context = context
        self.root = root
        arguments = try RestoreArguments(context.job.args)
    }

    func run() async throws -> JSONText? {
        let tables = try await context.read { try ArchivedBlock.tables(job: arguments.job, $0) }
        try await context.works(on: tables)
        let total = try await context.read { connection in
            try connection.query(
                "select sum(rows)::bigint from bulkhead.archive_block where job = \(arguments.job)"
            ).value(0, 0, as: Int64.self)
        }
        while let batch = try await nextBatch() {
            try await context.batch { transaction in
                try restore(batch, total: total, transaction)
            }
        }
        return context.progress.result
    }

    private func nextBatch() async throws -> Int64? {
        let last = try context.progress.checkpoint.map { try $0.decode(Checkpoint.self).batch }
        return try await context.read { connection in
            try connection.query(
                """
                select max(batch) from bulkhead.archive_block
                where job = \(arguments.job) and batch < \(last ?? .max) and restored_by is null
                """
            ).value(0, 0)
        }
    }

    private func restore(_ batch: Int64, total: Int64?, _ transaction: Batch) throws -> Progress {
        var report: RestoreReport = try context.progress.result?.decode() ?? RestoreReport()
        let connection = transaction.connection
        for block in try ArchivedBlock.unrestored(job: arguments.job, batch: batch, connection) {
            let source = try RestoreSource(block, root, connection)
            let statement = try RestoreStatement(source, arguments.onConflict, job: context.job.id)
            let outcome = try statement.run(connection)
            report += outcome
            // What was skipped may be asked for again, under another policy.
            guard outcome.skipped == 0 else { continue }
            try connection.query(
                """
                update bulkhead.archive_block set restored_by = \(context.job.id)
                where job = \(block.job) and batch = \(block.batch) and n = \(block.n)
                """
            )
        }
        return Progress(
            checkpoint: try JSONText(encoding: Checkpoint(batch: batch)),
            rowsDone: report.restored + report.updated + report.skipped,
            rowsTotal: total,
            result: try JSONText(encoding: report)
        )
    }
}
