internal import Postgres

/// Renews the daemon's lease, and passes on what people ask of its jobs.
///
/// It has a connection and a thread of its own: no batch can block it and no parser can starve it.
actor Heartbeat {
    nonisolated let thread: ExecutorThread
    nonisolated let unownedExecutor: UnownedSerialExecutor

    private let configuration: DaemonConfiguration
    private let incarnation: Incarnation
    private let kinds: [String]
    private let running: RunningJobs
    private let log: Logger
    private var isStopping = false
    private var isAway = false
    private lazy var session = Session(
        configuration.address,
        SessionSettings(
            applicationName: "bulkhead heartbeat",
            lockTimeout: configuration.heartbeat,
            statementTimeout: configuration.heartbeat
        ),
        prepare: { connection throws(PostgresError) in try connection.listen("bulkhead_control") }
    )

    init(
        configuration: DaemonConfiguration,
        incarnation: Incarnation,
        kinds: [String],
        running: RunningJobs,
        log: Logger
    ) {
        self.configuration = configuration
        self.incarnation = incarnation
        self.kinds = kinds
        self.running = running
        self.log = log
        thread = ExecutorThread(name: "bulkhead-beat")
        unownedExecutor = thread.asUnownedSerialExecutor()
    }

    deinit {
        thread.stop()
    }

    /// Looks at what the daemon is going to work with, and enters it into the list of those alive.
    ///
    /// - Throws: When it cannot work here: no server, no schema, a pooler in transaction mode.
    func start() throws {
        try Installation(session.connection()).requireCurrent()
        try session.connection().query("select bulkhead.check_limits(\(configuration.limits))")
        try PoolerProbe.refuseTransactionPooling(configuration.address)
        try register()
        try endLeasesOfGoneProcesses()
    }

    private func register() throws {
        let identity = try ProcessIdentity.current()
        try session.connection().query(
            """
            select bulkhead.register_daemon(\(incarnation.id), \(configuration.host), \(identity.pid),
                \(identity.start), \(Release.version), \(kinds), \(configuration.queues.map(\.name)),
                \(configuration.workers), \(seconds(configuration.lease)))
            """
        )
    }

    /// Ends the leases of daemons of this host whose process is gone.
    private func endLeasesOfGoneProcesses() throws {
        let rows = try session.connection().query(
            """
            select id, pid, process_start from bulkhead.daemon
            where host = \(configuration.host) and id <> \(incarnation.id)
            """
        )
        var gone: [String] = []
        for row in 0..<rows.count {
            let start: String = try rows.required(row, 2)
            if try ProcessIdentity.isGone(pid: rows.required(row, 1), start: start) {
                gone.append(try rows.required(row, 0))
            }
        }
        if !gone.isEmpty { try session.connection().query("select bulkhead.end_leases(\(gone))") }
    }

    /// Beats until it is stopped.
    func run() async {
        while !isStopping {
            let next = ContinuousClock.now + configuration.heartbeat
            do {
                try beat()
                try await waitForBeat(until: next)
            } catch let error as PostgresError where error.kind == .fenced {
                loseLease()
            } catch {
                noteAbsence(of: error)
                session.recover()
                await thread.sleep(for: .milliseconds(500))
            }
        }
    }

    /// Takes the daemon out of the list.
    func stop() {
        isStopping = true
        thread.wake()
        do {
            try session.connection().query("select bulkhead.unregister_daemon(\(incarnation.id))")
        } catch {
            log.warning("could not unregister: the lease will run out", ["error": "\(error)"])
        }
    }

    private func beat() throws {
        let requests = try session.connection().query(
            "select job, what from bulkhead.renew_lease(\(incarnation.id), \(seconds(configuration.lease)))"
        )
        for row in 0..<requests.count {
            let control = running[try requests.required(row, 0)]
            switch try requests.required(row, 1, as: String.self) {
            case "cancel": control?.stopNow(.cancelled)
            case "pause": control?.stopAfterBatch(.paused)
            default: control?.goOn()
            }
        }
        if isAway {
            isAway = false
            log.info("server is back")
        }
    }

    /// Waits for the next beat; a request rings for one at once.
    private func waitForBeat(until next: ContinuousClock.Instant) async throws {
        while !isStopping, .now < next {
            let connection = try session.connection()
            if try await !connection.notifications(on: thread, until: next).isEmpty { return }
        }
    }

    /// Another daemon took this one for dead.
    ///
    /// Its jobs are no longer ours; new ones come under a new id.
    private func loseLease() {
        log.error("lease lost: the jobs of this daemon are another's now")
        for control in running.all { control.stopNow(.lost) }
        incarnation.renew()
        do {
            try register()
        } catch {
            noteAbsence(of: error)
        }
    }

    private func noteAbsence(of error: any Error) {
        if !isAway { log.warning("server is away: waiting for it", ["error": "\(error)"]) }
        isAway = true
    }

    private func seconds(_ duration: Duration) -> String {
        "\(duration / .seconds(1)) seconds"
    }
}
