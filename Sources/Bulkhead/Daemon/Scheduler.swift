internal import Postgres

/// Claims jobs and hands each to an idle worker.
actor Scheduler {
    nonisolated let thread: ExecutorThread
    nonisolated let unownedExecutor: UnownedSerialExecutor
    nonisolated private let isStopping = Lock(false)

    private let configuration: DaemonConfiguration
    private let incarnation: Incarnation
    private let kinds: [String]
    private let smallKinds: [String]
    private let workers: Int
    private let running: RunningJobs
    private let log: Logger
    private var idle: [Worker]
    private var busy: [String: Int] = [:]
    private var watermarks: [String: Watermark] = [:]
    private var held: Set<Int64> = []
    private var nextReturn: ContinuousClock.Instant = .now
    private var nextQueue = 0
    private lazy var session = Session(
        configuration.address,
        SessionSettings(
            applicationName: "bulkhead scheduler",
            lockTimeout: .seconds(2),
            statementTimeout: .seconds(30)
        ),
        prepare: { connection throws(PostgresError) in
            try connection.listen("bulkhead_job")
            try connection.listen("bulkhead_control")
        }
    )

    /// Due jobs that a claim left, because someone holds their rows, are not asked for more often.
    private static let shortestWait = Duration.milliseconds(100)

    /// The most small jobs that one worker is given at once.
    private static let bunch = 100

    init(
        configuration: DaemonConfiguration,
        incarnation: Incarnation,
        handlers: [String: any JobHandler],
        running: RunningJobs,
        gauges: Gauges,
        log: Logger
    ) {
        self.configuration = configuration
        self.incarnation = incarnation
        kinds = handlers.keys.sorted()
        smallKinds = handlers.filter { $0.value.isSmall }.keys.sorted()
        self.running = running
        self.log = log
        workers = max(1, configuration.workers)
        idle = (1...workers).map { number in
            Worker(
                number: number,
                configuration: configuration,
                handlers: handlers,
                running: running,
                gauges: gauges,
                log: log
            )
        }
        thread = ExecutorThread(name: "bulkhead-sched")
        unownedExecutor = thread.asUnownedSerialExecutor()
    }

    deinit {
        thread.stop()
    }

    /// Works until it is stopped or, where the daemon drains, nothing is left; then waits for the workers.
    func run() async {
        await withDiscardingTaskGroup { group in
            while !isStopping.withLock({ $0 }) {
                do {
                    try returnUnheld()
                    try claim(into: &group)
                    if try isDrained() { break }
                    try await waitForWork()
                } catch {
                    log.debug("claiming put off", ["error": "\(error)"])
                    session.recover()
                    await thread.sleep(for: .milliseconds(500))
                }
            }
            await finishWorkers()
        }
    }

    /// Stops claiming, and lets each worker finish its batch.
    nonisolated func stop() {
        isStopping.withLock { $0 = true }
        thread.wake()
    }

    // MARK: Claiming

    /// Claims only what can start now: one job, or one bunch of small ones, for each idle worker.
    private func claim(into group: inout DiscardingTaskGroup) throws {
        while let worker = idle.last {
            // The id under which they are claimed, which may be a former one when they run.
            let daemon = incarnation.id
            guard let (queue, jobs) = try claimFromNextQueue(daemon: daemon) else { return }
            idle.removeLast()
            busy[queue, default: 0] += 1
            held.formUnion(jobs.map(\.id))
            group.addTask(executorPreference: worker.thread) {
                await worker.run(jobs, daemon: daemon)
                await self.release(worker, queue: queue, jobs)
            }
        }
    }

    private func release(_ worker: Worker, queue: String, _ jobs: [Job]) {
        held.subtract(jobs.map(\.id))
        idle.append(worker)
        busy[queue, default: 1] -= 1
        thread.wake()
    }

    /// Gives back what was claimed by a statement whose answer was lost.
    ///
    /// Nobody else would, since the daemon lives. It looks from time to time, as such a statement may
    /// commit late.
    private func returnUnheld() throws {
        guard .now >= nextReturn else { return }
        let row = try session.connection().query(
            "select bulkhead.return_unheld(\(incarnation.id), \(Array(held)))"
        )
        nextReturn = .now + configuration.poll
        let returned: Int64 = try row.required(0, 0)
        if returned > 0 {
            log.warning(
                "claimed jobs given back: the answer to their claim was lost",
                ["jobs": "\(returned)"]
            )
        }
    }

    /// Asks the queues in turn, so that a long one does not keep the others waiting.
    private func claimFromNextQueue(daemon: String) throws -> (queue: String, jobs: [Job])? {
        for offset in 0..<configuration.queues.count {
            let share = configuration.queues[(nextQueue + offset) % configuration.queues.count]
            guard hasRoom(share) else { continue }
            let jobs = try claim(from: share.name, daemon: daemon)
            if !jobs.isEmpty {
                nextQueue = (nextQueue + offset + 1) % configuration.queues.count
                return (share.name, jobs)
            }
        }
        return nil
    }

    private func hasRoom(_ share: DaemonConfiguration.QueueShare) -> Bool {
        busy[share.name, default: 0] < share.limit ?? .max
    }

    private func claim(from queue: String, daemon: String) throws -> [Job] {
        var watermark = watermarks[queue] ?? Watermark(now: .now)
        defer { watermarks[queue] = watermark }
        let start = watermark.start(now: .now)
        var jobs = try claim(from: queue, daemon: daemon, after: start)
        if jobs.isEmpty, start != nil { jobs = try claim(from: queue, daemon: daemon, after: nil) }
        watermark.claimed(
            last: jobs.last.map { Watermark.Key(priority: $0.priority, id: $0.id) },
            isShort: jobs.isEmpty || (jobs.count > 1 && jobs.count < Self.bunch)
        )
        return jobs
    }

    private func claim(
        from queue: String,
        daemon: String,
        after key: Watermark.Key?
    ) throws -> [Job] {
        let rows = try session.connection().query(
            """
            select * from bulkhead.claim(\(daemon), \(queue), \(kinds), \(smallKinds),
                \(configuration.host), \(Self.bunch), \(key?.priority), \(key?.id), \(configuration.limits))
            """
        )
        return try (0..<rows.count).map { row in try Job(claimed: rows, row) }
    }

    // MARK: Waiting

    /// Waits for a notification, an idle worker, the next due job, or the poll.
    private func waitForWork() async throws {
        let connection = try session.connection()
        var wait = configuration.poll
        if !idle.isEmpty {
            let queues = configuration.queues.filter(hasRoom).map(\.name)
            let row = try connection.query("select bulkhead.next_due(\(queues))")
            if let due = try row.value(0, 0, as: Double.self) {
                wait = min(wait, max(.seconds(due), Self.shortestWait))
            }
            if configuration.drains { wait = min(wait, .seconds(1)) }
        }
        let arrived = try await connection.notifications(on: thread, until: .now + wait)
        for notification in arrived { note(notification) }
    }

    private func note(_ notification: Notification) {
        // A queue that is open again has the same jobs as before.
        if notification.channel == "bulkhead_control" { return }
        do {
            let job = try JSONText(notification.payload).decode(AnnouncedJob.self)
            watermarks[job.queue]?.announced(Watermark.Key(priority: job.priority, id: job.id))
        } catch {
            // Someone else rang: then anything may have come.
            watermarks.removeAll()
        }
    }

    private struct AnnouncedJob: Decodable {
        let queue: String
        let priority: Int32
        let id: Int64
    }

    private func isDrained() throws -> Bool {
        guard configuration.drains, idle.count == workers else { return false }
        let queues = configuration.queues.map(\.name)
        let row = try session.connection().query(
            "select bulkhead.has_work(\(queues), \(kinds), \(configuration.host), '5 seconds')"
        )
        return try !row.required(0, 0, as: Bool.self)
    }

    // MARK: Stopping

    /// Lets the workers end their batches and hand back the rest; past the grace period what they are
    /// doing is cancelled.
    private func finishWorkers() async {
        running.stopAfterBatch()
        let end = ContinuousClock.now + configuration.grace
        while idle.count < workers, .now < end {
            _ = await thread.wait(until: end)
        }
        if idle.count < workers {
            log.warning("grace period over: cancelling what still runs")
            for control in running.all { control.stopNow(.handedBack) }
        }
    }
}

extension Job {
    fileprivate init(claimed rows: borrowing Rows, _ row: Int) throws {
        id = try rows.required(row, 0)
        kind = try rows.required(row, 1)
        queue = try rows.required(row, 2)
        priority = try rows.required(row, 3)
        args = JSONText(try rows.required(row, 4))
        attempt = try rows.required(row, 5)
        progress = Progress(
            checkpoint: try rows.value(row, 6),
            rowsDone: try rows.required(row, 7),
            rowsTotal: nil,
            result: try rows.value(row, 9)
        )
        batches = try rows.required(row, 8)
        limits = try JobLimits(rows.value(row, 10))
    }
}
