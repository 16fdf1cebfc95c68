internal import Postgres

/// Writes how jobs ended: tried again until the server takes it, or says that the job is no longer ours.
final class OutcomeWriter {
    private let thread: ExecutorThread
    private let running: RunningJobs
    private let log: Logger
    private var completed: [Int64] = []
    private var completedSince: ContinuousClock.Instant?

    private enum Writing<Result> {
        case written(Result)
        /// The server takes everything but this.
        case refused(PostgresError)
        case notWritten
    }

    /// How long a daemon that stops waits for a server that is away; then the lease runs out.
    private static let farewell = Duration.seconds(5)

    init(thread: ExecutorThread, running: RunningJobs, log: Logger) {
        self.thread = thread
        self.running = running
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
        _ = await persist(jobs, daemon, session) { connection in
            try connection.query("select bulkhead.complete(\(jobs), \(daemon))").count
        }
    }

    /// Writes one outcome.
    ///
    /// - Returns: The job's state; nil when the job is no longer this daemon's.
    func write(_ outcome: Outcome, of job: Job, daemon: String, session: Session) async -> String? {
        switch await put(outcome, job, daemon, session) {
        case .written(let state): return state
        case .notWritten: return nil
        case .refused(let error):
            // It would run for ever otherwise.
            let failure = JobFailure(
                "what the job ended with cannot be stored: \(error.message)",
                detail: error.detail,
                sqlstate: error.state?.rawValue
            )
            guard case .written(let state) = await put(.failed(failure), job, daemon, session)
            else { return nil }
            return state
        }
    }

    private func put(
        _ outcome: Outcome,
        _ job: Job,
        _ daemon: String,
        _ session: Session
    ) async -> Writing<String> {
        guard let name = outcome.name else { return .notWritten }
        let failure = outcome.failure
        return await persist([job.id], daemon, session) { connection in
            let row = try connection.query(
                """
                select bulkhead.finish(\(job.id), \(job.attempt), \(daemon), \(name), \(outcome.result),
                    \(failure?.sqlstate), \(failure?.message), \(failure?.detail), \(failure?.position))
                """
            )
            return try row.required(0, 0, as: String.self)
        }
    }

    /// Tries until it is written: a job left `running` by a daemon that lives would never be rescued.
    ///
    /// After an answer that was lost, the next try finds it done and is refused like one that came late:
    /// either way there is nothing left to write.
    private func persist<Result>(
        _ jobs: [Int64],
        _ daemon: String,
        _ session: Session,
        _ body: (Connection) throws -> Result
    ) async -> Writing<Result> {
        var persistence = Persistence(patience: .zero)
        var failedSince: ContinuousClock.Instant?
        while true {
            do {
                return try write(jobs, daemon, try session.connection(), body)
            } catch {
                session.recover()
                if failedSince == nil {
                    log.warning("cannot write how jobs ended: trying on", ["error": "\(error)"])
                }
                let since = failedSince ?? .now
                failedSince = since
                if running.isStopping, .now - since > Self.farewell { return .notWritten }
                let delay = persistence.delay(.random(in: 0...1))
                await thread.sleep(for: running.isStopping ? min(delay, .milliseconds(500)) : delay)
            }
        }
    }

    private func write<Result>(
        _ jobs: [Int64],
        _ daemon: String,
        _ connection: Connection,
        _ body: (Connection) throws -> Result
    ) throws -> Writing<Result> {
        do {
            return .written(try body(connection))
        } catch let error as PostgresError {
            switch error.kind {
            case .fenced:
                // Refused for good, or only until the next heartbeat, as after a restart of the server.
                guard try isOurs(jobs, daemon, connection) else { return .notWritten }
                throw error
            case .badData, .permanent, .conflict:
                return .refused(error)
            case .connectionLost, .unavailable, .transient, .cancelled, .permission:
                throw error
            }
        }
    }

    private func isOurs(
        _ jobs: [Int64],
        _ daemon: String,
        _ connection: Connection
    ) throws -> Bool {
        try connection.query(
            """
            select exists (
                select from bulkhead.job
                where id = any (\(jobs)) and daemon = \(daemon) and state = 'running')
            """
        ).required(0, 0)
    }
}
