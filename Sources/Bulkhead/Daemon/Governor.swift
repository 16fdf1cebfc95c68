internal import Postgres

/// Looks once a second at what the daemon's jobs must heed, and at the limits that they have by now.
///
/// It has a connection and a thread of its own, so that it sees who waits behind a batch. It rests while no job
/// runs.
actor Governor {
    nonisolated let thread: ExecutorThread
    nonisolated let unownedExecutor: UnownedSerialExecutor

    private let configuration: DaemonConfiguration
    private let incarnation: Incarnation
    private let running: RunningJobs
    private let gauges: Gauges
    private let log: Logger
    private var reader = GaugeReader()
    private var noted: (daemon: String, unheeded: [String: String]) = ("", [:])
    private var logged: Set<Gauge> = []
    private var isStopping = false
    private var isFailing = false
    private lazy var session = Session(
        configuration.address,
        SessionSettings(
            applicationName: "bulkhead governor",
            lockTimeout: .seconds(1),
            statementTimeout: .seconds(4)
        )
    )

    private static let interval = Duration.seconds(1)

    init(
        configuration: DaemonConfiguration,
        incarnation: Incarnation,
        running: RunningJobs,
        gauges: Gauges,
        log: Logger
    ) {
        self.configuration = configuration
        self.incarnation = incarnation
        self.running = running
        self.gauges = gauges
        self.log = log
        thread = ExecutorThread(name: "bulkhead-govern")
        unownedExecutor = thread.asUnownedSerialExecutor()
    }

    deinit {
        thread.stop()
    }

    /// Governs until it is stopped.
    func run() async {
        while !isStopping {
            do {
                try govern(running.byID)
                isFailing = false
            } catch {
                noteFailure(error)
                session.recover()
            }
            await thread.sleep(for: Self.interval)
        }
    }

    /// Stops after what it is doing.
    func stop() {
        isStopping = true
        thread.wake()
    }

    private func govern(_ controls: [Int64: JobControl]) throws {
        // Old readings are nothing for a job that starts now.
        guard !controls.isEmpty else { return gauges.readings = nil }
        try readLimits(of: controls)
        try lookForBlocked(controls)
        var wanted: Set<Gauge> = []
        var jobs: [Int64] = []
        for (job, control) in controls where !control.limits.values.isEmpty {
            jobs.append(job)
            wanted.formUnion(control.limits.values.keys)
        }
        guard !wanted.isEmpty else { return gauges.readings = nil }
        let readings = try reader.read(wanted, for: jobs, session.connection())
        gauges.readings = readings
        try note(unreadable(of: wanted, in: readings))
    }

    /// Jobs without limits are not in the answer.
    private func readLimits(of controls: [Int64: JobControl]) throws {
        let rows = try session.connection().query(
            """
            select j.id, l.limits::text from unnest(\(Array(controls.keys))::bigint[]) as j (id)
            cross join lateral bulkhead.limits_in_force(j.id, \(configuration.limits)) as l (limits)
            """
        )
        for row in 0..<rows.count {
            let limits = try JobLimits(rows.value(row, 1))
            controls[try rows.required(row, 0)]?.limits = limits
        }
    }

    /// A worker that waits for a lock cannot ask who has it.
    private func lookForBlocked(_ controls: [Int64: JobControl]) throws {
        let rows = try session.connection().query(
            "select job, reason from bulkhead.blocked_batches(\(Array(controls.keys)))"
        )
        for row in 0..<rows.count {
            controls[try rows.required(row, 0)]?.isBlocked(by: try rows.required(row, 1))
        }
    }

    /// That the server is away, the heartbeat says.
    private func noteFailure(_ error: any Error) {
        let kind = (error as? PostgresError)?.kind
        guard !isFailing, kind != .unavailable, kind != .connectionLost else { return }
        isFailing = true
        log.warning("cannot look at what limits heed: jobs go on", ["error": "\(error)"])
    }

    // MARK: What cannot be read

    private func unreadable(of wanted: Set<Gauge>, in readings: GaugeReadings) -> [Gauge: String] {
        wanted.reduce(into: [:]) { reasons, gauge in
            if case .unreadable(let reason) = readings[gauge] { reasons[gauge] = reason }
        }
    }

    /// Says it to people: in the log once, and with the jobs that it is about.
    private func note(_ reasons: [Gauge: String]) throws {
        for (gauge, reason) in reasons where logged.insert(gauge).inserted {
            log.warning("a limit is not heeded", ["limit": gauge.rawValue, "reason": reason])
        }
        let stated = reasons.reduce(into: [:]) { stated, entry in
            stated[entry.key.rawValue] = "\(entry.key.name): \(entry.value)"
        }
        let daemon = incarnation.id
        guard noted != (daemon, stated) else { return }
        try session.connection().query(
            "select bulkhead.note_unheeded(\(daemon), \(try JSONText(encoding: stated)))"
        )
        noted = (daemon, stated)
    }
}
