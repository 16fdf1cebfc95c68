internal import Bulkhead
internal import Postgres

/// Takes the batches of an import, in order, and decides when they count.
protocol BatchDestination: AnyObject {
    /// Where the next batch starts, and what became of the rows before it.
    var progress: ImportProgress { get set }

    /// Reads from the database between batches.
    func read<Result>(_ body: (Connection) throws -> Result) async throws -> Result

    /// Loads a batch, and tells the sizer how it went.
    func load(
        _ batch: ParsedBatch,
        of file: FileInProgress,
        _ sizer: inout BatchSizer
    ) async throws
}

/// The file whose batches are being loaded.
struct FileInProgress {
    let file: OpenFile
    let plan: ImportPlan
    let rejectFile: RejectFile
    /// The share of all the job's bytes that lie in files before this one, and in this one.
    let shareBefore: Double
    let shareOwn: Double

    /// The share of all input that has been read when a batch has been.
    func share(after batch: ParsedBatch) -> Double {
        min(1, shareBefore + shareOwn * (batch.isLast ? 1 : batch.share))
    }
}

extension ImportProgress {
    /// What it is once a batch has been loaded.
    func after(_ batch: ParsedBatch, _ outcome: BatchOutcome, of file: FileInProgress)
        -> ImportProgress
    {
        var next = self
        next.report.totals.add(read: batch.count, outcome, file.plan.policy)
        next.checkpoint =
            batch.isLast
            ? ImportCheckpoint(file: checkpoint.file + 1)
            : ImportCheckpoint(
                file: checkpoint.file,
                position: batch.end,
                identity: file.file.identity
            )
        return next
    }
}
