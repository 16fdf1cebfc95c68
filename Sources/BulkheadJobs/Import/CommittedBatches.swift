internal import Bulkhead
internal import Postgres

/// Commits each batch by itself: what is loaded stays loaded, and a later attempt goes on behind it.
final class CommittedBatches: BatchDestination {
    var progress: ImportProgress
    private let context: JobContext
    private let limit: RejectLimit
    private let experience = LoadExperience()

    init(_ context: JobContext, _ limit: RejectLimit) async throws {
        self.context = context
        self.limit = limit
        progress = try ImportProgress(context.progress)
        try await forgetLaterRejects()
    }

    func read<Result>(_ body: (Connection) throws -> Result) async throws -> Result {
        try await context.read(body)
    }

    func load(
        _ batch: ParsedBatch,
        of file: FileInProgress,
        _ sizer: inout BatchSizer
    ) async throws {
        do {
            let took = try await context.batch(onFailure: { sizer.failed($0) }) { transaction in
                let outcome = try load(batch, of: file, in: transaction)
                try limit.kept(outcome.rejects, after: progress.totals).write(
                    job: context.job.id,
                    of: file.rejectFile,
                    transaction.connection
                )
                return try progress.after(batch, outcome, of: file).stored(
                    share: file.share(after: batch)
                )
            }
            sizer.took(took, rows: batch.count)
            progress = try ImportProgress(context.progress)
        } catch let error as TooManyRejects {
            // Kept for whoever mends the file.
            try await context.batch { transaction in
                try error.rejects.write(
                    job: context.job.id,
                    of: file.rejectFile,
                    transaction.connection
                )
                return context.progress
            }
            throw limit.failure(error, job: context.job.id)
        }
    }

    private func load(
        _ batch: ParsedBatch,
        of file: FileInProgress,
        in transaction: Batch
    ) throws -> BatchOutcome {
        let loader = BatchLoader(
            task: LoadTask(
                batch: batch,
                file: file,
                job: context.job.id,
                rejectsLeft: limit.left(after: progress.totals),
                isDryRun: limit.isDryRun,
                experience: experience,
                transaction: transaction
            )
        )
        guard limit.isDryRun else { return try loader.load() }
        return try transaction.connection.takingBack { try loader.load() }
    }

    /// Removes the rejects that an earlier attempt wrote beyond its last batch, when it failed.
    ///
    /// Inside a batch: a worker that woke up too late would else remove those of its successor.
    private func forgetLaterRejects() async throws {
        let kept = limit.keptCount(of: progress.totals.rejected)
        let later: SQL = """
            select id from bulkhead.reject where job = \(context.job.id) order by id offset \(kept)
            """
        let hasLater = try await context.read { try !$0.query("\(later) limit 1").isEmpty }
        guard hasLater else { return }
        try await context.batch { transaction in
            try transaction.connection.query("delete from bulkhead.reject where id in (\(later))")
            return context.progress
        }
    }
}
