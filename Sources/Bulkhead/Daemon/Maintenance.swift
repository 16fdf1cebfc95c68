internal import Postgres

/// Takes over the jobs of daemons that are gone, does what was asked too late for a worker to hear, and
/// removes what is past its time, and keeps the feed.
///
/// It has a connection of its own, since ending a frozen server process may take seconds.
actor Maintenance {
    nonisolated let thread: ExecutorThread
    nonisolated let unownedExecutor: UnownedSerialExecutor

    private let configuration: DaemonConfiguration
    private let log: Logger
    private var isStopping = false
    private var hasLookedForEnded = false
    private var nextCleaning: ContinuousClock.Instant = .now
    private var nextCare: ContinuousClock.Instant = .now
    private lazy var session = Session(
        configuration.address,
        SessionSettings(applicationName: "bulkhead maintenance", lockTimeout: .seconds(2))
    )

    init(configuration: DaemonConfiguration, log: Logger) {
        self.configuration = configuration
        self.log = log
        thread = ExecutorThread(name: "bulkhead-maint")
        unownedExecutor = thread.asUnownedSerialExecutor()
    }

    deinit {
        thread.stop()
    }

    /// Works until it is stopped.
    func run() async {
        while !isStopping {
            do {
                _ = try session.connection()
                if !hasLookedForEnded {
                    try rescue(onlyEnded: true)
                    hasLookedForEnded = true
                }
                // After a restart of the server all leases look over, until the daemons have beaten again.
                if let openedAt = session.openedAt, .now - openedAt >= configuration.heartbeat * 2 {
                    try rescue(onlyEnded: false)
                    try session.connection().query("select bulkhead.heed_late_requests()")
                    try clean()
                    try careForFeed()
                }
            } catch {
                log.debug("maintenance put off", ["error": "\(error)"])
                session.recover()
            }
            await thread.sleep(for: configuration.heartbeat)
        }
    }

    /// Stops after what it is doing.
    func stop() {
        isStopping = true
        thread.wake()
    }

    /// Takes every job whose daemon is gone.
    ///
    /// With `onlyEnded`, a lease must have been ended, since its process is known to be gone; one that
    /// has merely run out does not count then.
    private func rescue(onlyEnded: Bool) throws {
        var after: Int64 = 0
        while !isStopping {
            let row = try session.connection().query(
                "select * from bulkhead.rescue(\(after), \(onlyEnded))"
            )
            if row.isEmpty { return }
            after = try row.required(0, 0)
            let line = log.with("job", after).with("was", try row.required(0, 2, as: String.self))
            if let state = try row.value(0, 1, as: String.self) {
                line.warning("job rescued from a daemon that is gone", ["state": state])
            } else {
                line.debug("job not rescued: its row is locked, or its daemon is back")
            }
        }
    }

    /// Removes dead daemons' rows and, once an hour, finished jobs past their time.
    private func clean() throws {
        try session.connection().query("select bulkhead.remove_dead_daemons()")
        guard .now >= nextCleaning else { return }
        var after: Int64? = 0
        let age = "\(configuration.retention / .seconds(1)) seconds"
        while let from = after, !isStopping {
            let row = try session.connection().query(
                "select bulkhead.remove_finished(\(age), \(from))"
            )
            after = try row.value(0, 0)
        }
        nextCleaning = .now + .seconds(3600)
    }

    /// Once a minute, tracks new partitions of tracked tables, and removes changes that are past their time
    /// or too many, in bounded batches.
    private func careForFeed() throws {
        guard .now >= nextCare else { return }
        let refused = try session.connection().query("select * from bulkhead.track_partitions()")
        for row in 0..<refused.count {
            log.warning(
                "a partition of a tracked table is not tracked",
                ["partition": try refused.required(row, 0), "error": try refused.required(row, 1)]
            )
        }
        try session.connection().query("select bulkhead.measure_changes()")
        var removed = 1
        while removed > 0, !isStopping {
            removed = try session.connection().query("select bulkhead.remove_changes()")
                .required(0, 0)
        }
        nextCare = .now + .seconds(60)
    }
}
