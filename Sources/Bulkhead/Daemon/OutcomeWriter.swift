internal import Postgres

/// Writes how jobs ended: tried again until the server takes it, or says that the job is no longer ours.
final class OutcomeWriter {
    private let thread: ExecutorThread
    private let log: Logger
    private var completed: [Int64] = []
    private var completedSince: ContinuousClock.Instant?

    init(thread: ExecutorThread, log: Logger) {
        self.thread = thread
        self.log = log
    }

    /// Keeps a small job's completion for the end of its bunch, or for 20 ms.
    func complete(_ job: Job, daemon: String, session: Session) async {
        completed.append(job.id)
        let since = completedSince ?? .now
        completedSince = since
        if .now - since > .milliseconds(20) { await flush(daemon: daemon, session: session) }
    }

    /// Writes the completions that are kept.
    func flush(daemon: String, session: Session) async {
        guard !completed.isEmpty else { return }
        let jobs = completed
        completed.removeAll(keepingCapacity: true)
        completedSince = nil
        _ = await persist("the completion of \(jobs.count) jobs", session) { connection in
            try connection.query("select bulkhead.complete(\(jobs), \(daemon))").count
        }
    }

    /// Writes one outcome.
    ///
    /// - Returns: The job's state; nil when the job is no longer this daemon's.
    func write(_ outcome: Outcome, of job: Job, daemon: String, session: Session) async -> String? {
        guard let name = outcome.name else { return nil }
        let failure = outcome.failure
        return await persist("the outcome of job \(job.id)", session) { connection in
            let row = try connection.query(
                """
                select bulkhead.finish(\(job.id), \(job.attempt), \(daemon), \(name), \(outcome.result),
                    \(failure?.sqlstate), \(failure?.message), \(failure?.detail), \(failure?.position))
                """
            )
            return try row.required(0, 0, as: String.self)
        }
    }

    /// After an answer that was lost, the next try finds it done and is refused like one that came late:
    /// either way there is nothing left to write.
    private func persist<Result>(
        _ what: String,
        _ session: Session,
        _ body: (Connection) throws -> Result
    ) async -> Result? {
        var persistence = Persistence(patience: .seconds(3600))
        var isRetry = false
        while true {
            do {
                return try body(try session.connection())
            } catch {
                session.recover()
                guard let error = error as? PostgresError, error.kind != .fenced,
                    case .tryAgain(let delay) = persistence.failed(
                        error.kind,
                        took: .zero,
                        random: .random(in: 0...1)
                    )
                else {
                    let line =
                        isRetry
                        ? "\(what) was written before, or is no longer ours"
                        : "could not write \(what)"
                    log.warning(line, ["error": "\(error)"])
                    return nil
                }
                isRetry = true
                await thread.sleep(for: delay)
            }
        }
    }
}
