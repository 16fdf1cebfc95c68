internal import Bulkhead
internal import Postgres

/// Loads all batches in one transaction: all rows are there at its end, or none.
///
/// Rejects and the figures are committed beside it, so that they are seen meanwhile and outlive its failure.
final class SingleTransaction: BatchDestination {
    var progress = ImportProgress()
    private let context: JobContext
    private let limit: RejectLimit
    private let transaction: Batch
    private let experience = LoadExperience()

    /// Begins anew: what an earlier attempt said of rejects is void.
    init(_ context: JobContext, _ limit: RejectLimit, _ transaction: Batch) throws {
        self.context = context
        self.limit = limit
        self.transaction = transaction
        try context.beside(rowsDone: 0) { [job = context.job.id] connection in
            try connection.query("delete from bulkhead.reject where job = \(job)")
        }
    }

    func read<Result>(_ body: (Connection) throws -> Result) throws -> Result {
        try body(transaction.connection)
    }

    func load(_ batch: ParsedBatch, of file: FileInProgress, _ sizer: inout BatchSizer) throws {
        try context.checkInterruption()
        let start = ContinuousClock.now
        let loader = BatchLoader(
            task: LoadTask(
                batch: batch,
                file: file,
                job: context.job.id,
                rejectsLeft: limit.left(after: progress.totals),
                isLastWord: false,
                isDryRun: limit.isDryRun,
                experience: experience,
                transaction: transaction
            )
        )
        do {
            let outcome = try loader.load()
            let next = progress.after(batch, outcome, of: file)
            let shown = try next.stored(share: file.share(after: batch))
            try keep(outcome.rejects, of: file, rowsDone: shown.rowsDone, shown.rowsTotal)
            progress = next
            sizer.took(.now - start, rows: batch.count)
        } catch let error as TooManyRejects {
            try keep(error.rejects, of: file, rowsDone: 0, nil)
            throw limit.failure(error, job: context.job.id)
        }
    }

    private func keep(
        _ rejects: [Reject],
        of file: FileInProgress,
        rowsDone: Int64,
        _ rowsTotal: Int64?
    ) throws {
        try context.beside(rowsDone: rowsDone, rowsTotal: rowsTotal) { connection in
            try limit.kept(rejects, after: progress.totals).write(
                job: context.job.id,
                of: file.rejectFile,
                connection
            )
        }
    }
}
