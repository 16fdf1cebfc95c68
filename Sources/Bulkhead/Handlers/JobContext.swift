public import Postgres

/// What a handler needs to run one job.
///
/// It belongs to the worker and never leaves it.
public final class JobContext {
    /// The job, as it was claimed.
    public let job: Job
    /// Writes lines that carry the job's id and kind.
    public let log: Logger
    /// What is committed.
    public private(set) var progress: Progress
    /// The batches that are committed.
    public private(set) var batches: Int64

    let daemon: String
    private let session: Session
    private let makeSession: () -> Session
    private lazy var sessionBeside = makeSession()
    private let control: JobControl
    private let throttle: Throttle
    private let lanes = Lanes()
    private let thread: ExecutorThread
    private let patience: Duration

    init(
        job: Job,
        daemon: String,
        log: Logger,
        session: Session,
        makeSession: @escaping () -> Session,
        control: JobControl,
        gauges: Gauges,
        thread: ExecutorThread,
        patience: Duration
    ) {
        self.job = job
        self.daemon = daemon
        self.log = log
        self.session = session
        self.makeSession = makeSession
        self.control = control
        throttle = Throttle(job: job.id, control: control, gauges: gauges, thread: thread)
        self.thread = thread
        self.patience = patience
        progress = job.progress
        batches = job.batches
    }

    /// The job's args, read as a type of the handler's own.
    ///
    /// - Throws: `JobFailure` when they are not what the type needs: trying again would not help.
    public func arguments<Wanted: Decodable>(
        _ type: Wanted.Type = Wanted.self
    ) throws -> Wanted {
        do {
            return try job.args.decode()
        } catch let error as DecodingError {
            throw JobFailure("the args of a job of kind \(job.kind) are wrong: \(error.inWords)")
        }
    }

    /// Throws when the job should stop; call it where work goes on for long between batches.
    ///
    /// - Throws: `JobInterruption`.
    public func checkInterruption() throws {
        if let interruption = control.interruption { throw interruption }
    }

    /// Says what the job waits for, to people who look at it; nil says that it goes on.
    ///
    /// The next batch that is committed clears it, and so does the end of the attempt. It is said outside a
    /// transaction, and that it could not be said stops nothing.
    ///
    /// - Parameter reason: What it waits for, as it stands behind `waiting:`.
    public func waits(for reason: String?) {
        log.debug(reason == nil ? "job goes on" : "job waits", reason.map { ["for": $0] } ?? [:])
        do {
            try session.connection().query(
                "select bulkhead.show_waiting(\(job.id), \(job.attempt), \(daemon), \(reason))"
            )
        } catch {
            log.debug("cannot say that the job waits", ["error": "\(error)"])
            session.recover()
        }
    }

    /// Reads from the database outside a batch, and tries again while the server is away.
    ///
    /// - Throws: What the closure threw, `JobInterruption`, or the server's last word.
    public func read<Result>(_ body: (Connection) throws -> Result) async throws -> Result {
        try await persist { try body($0) }
    }

    /// Says on which tables the job's batches work: none runs while a migration is at a step on one of them.
    ///
    /// - Parameter tables: Their names; one that is not there is left out.
    /// - Throws: `JobInterruption`, or the server's last word.
    public func works(on tables: [String]) async throws {
        let relations = try await read { try Lanes.relations(of: tables, $0) }
        lanes.relations = relations
    }

    /// Waits, with nothing held.
    ///
    /// - Throws: `JobInterruption` as soon as the job should stop.
    public func sleep(for duration: Duration) async throws {
        let end = ContinuousClock.now + duration
        while .now < end {
            try checkInterruption()
            await thread.sleep(for: end - .now)
        }
        try checkInterruption()
    }

    /// Runs one batch in one transaction: what the closure changes, the progress that it returns, the
    /// changes that it published and the notification commit together or not at all.
    ///
    /// The closure runs again when the transaction failed and may succeed at another try, so it must not
    /// change anything but the database. It is not run again when an earlier try did commit, though its
    /// answer was lost.
    ///
    /// - Parameters:
    ///   - onFailure: Is told of each try that fails and is made again: a `BatchSizer` makes the next batches
    ///     smaller.
    ///   - body: The work of the batch, and how far the job is after it.
    /// - Returns: How long the transaction took, without failed tries and waiting before it: what tells how
    ///   large the next batch may be.
    /// - Throws: What the closure threw, `JobInterruption`, or the server's last word.
    @discardableResult
    public func batch(
        onFailure: (PostgresError) -> Void = { _ in },
        _ body: (Batch) throws -> Progress
    ) async throws -> Duration {
        try await run(onFailure: onFailure) { try body($0) }
    }

    /// Runs the whole job in one transaction, with reading and waiting in it: nothing of it stays when it
    /// fails, and a later attempt begins anew.
    ///
    /// It holds back vacuum and keeps its locks to the end, so batches are better for all that may stop
    /// half-way. The closure runs again as that of `batch` does.
    ///
    /// - Throws: What the closure threw, `JobInterruption`, or the server's last word.
    public func transaction(_ body: (Batch) async throws -> Progress) async throws {
        _ = try await run(body)
    }

    /// Commits something beside an open transaction, and shows how far that one is.
    ///
    /// It stays when the other is rolled back. Like a batch it is refused when the job is no longer this
    /// worker's.
    ///
    /// - Throws: What the closure threw or the server said.
    public func beside(
        rowsDone: Int64,
        rowsTotal: Int64? = nil,
        _ body: (Connection) throws -> Void = { _ in }
    ) throws {
        let connection = try sessionBeside.connection()
        do {
            try connection.transaction { connection in
                try body(connection)
                try connection.query(
                    """
                    select bulkhead.show_progress(\(job.id), \(job.attempt), \(daemon), \(batches),
                        \(rowsDone), \(rowsTotal))
                    """
                )
            }
        } catch {
            sessionBeside.recover()
            throw error
        }
    }

    // MARK: Trying again

    func persist<Result>(
        onFailure: (PostgresError) -> Void = { _ in },
        _ body: (Connection) async throws -> Result
    ) async throws -> Result {
        var persistence = Persistence(patience: patience)
        var isAway = false
        var isBlocked = false
        while true {
            try checkInterruption()
            let start = ContinuousClock.now
            do {
                return try await body(try session.connection())
            } catch let error as PostgresError {
                session.recover()
                try checkInterruption()
                let took = ContinuousClock.now - start
                switch persistence.failed(error.kind, took: took, random: .random(in: 0...1)) {
                case .giveUp: throw error
                case .tryAgain(let delay):
                    onFailure(error)
                    if error.state == .lockNotAvailable, let lock = control.takeBlocker() {
                        if !isBlocked { log.warning("job waits", ["for": lock]) }
                        isBlocked = true
                        waits(for: lock)
                    }
                    if error.kind == .unavailable, !isAway {
                        isAway = true
                        log.warning("job waits for the server", ["error": error.description])
                    }
                    log.debug("trying again", ["error": error.description, "after": "\(delay)"])
                    await thread.sleep(for: delay)
                }
            } catch {
                session.recover()
                throw error
            }
        }
    }

    // MARK: The transaction

    private func run(
        onFailure: (PostgresError) -> Void = { _ in },
        _ body: (Batch) async throws -> Progress
    ) async throws -> Duration {
        try await throttle.wait(saying: waits)
        while true {
            let took = try await persist(onFailure: onFailure) { try await attempt($0, body) }
            if let took {
                throttle.batchTook(took)
                lanes.goOn()
                return took
            }
            if let reason = lanes.takeReason() { waits(for: reason) }
            try await sleep(for: Lanes.step)
        }
    }

    /// Nil when a migration's step is in the way.
    private func attempt(
        _ connection: Connection,
        _ body: (Batch) async throws -> Progress
    ) async throws -> Duration? {
        let beginning = try begin(connection)
        // What it waited for an earlier try is no time of its own.
        let start = ContinuousClock.now
        switch beginning {
        case .committedBefore(let progress):
            adopt(progress)
        case .open:
            guard try lanes.enter(connection) else {
                try connection.rollback()
                return nil
            }
            let progress = try await body(Batch(connection: connection, job: job.id))
            try commit(progress, connection)
            adopt(progress)
        }
        return .now - start
    }

    private func adopt(_ progress: Progress) {
        self.progress = progress
        batches += 1
    }
}
