internal import Postgres

/// Rings for what the triggers of tracked tables have recorded.
///
/// A trigger never rings: NOTIFY takes one lock for the whole cluster at COMMIT, which short transactions would
/// queue for. One daemon does it for all, at most once a second.
actor Bell {
    nonisolated let thread: ExecutorThread
    nonisolated let unownedExecutor: UnownedSerialExecutor

    private let log: Logger
    private var isStopping = false
    private lazy var session = Session(address, settings)
    private let address: DatabaseAddress
    private let settings = SessionSettings(
        applicationName: "bulkhead bell",
        lockTimeout: .seconds(2),
        statementTimeout: .seconds(30)
    )

    /// How long a change of a tracked table may be there before its readers are told.
    private static let interval: Duration = .seconds(1)

    init(address: DatabaseAddress, log: Logger) {
        self.address = address
        self.log = log
        thread = ExecutorThread(name: "bulkhead-bell")
        unownedExecutor = thread.asUnownedSerialExecutor()
    }

    deinit {
        thread.stop()
    }

    /// Rings until it is stopped.
    func run() async {
        while !isStopping {
            do {
                while !isStopping, try ring() > 0 {}
            } catch {
                log.debug("ringing put off", ["error": "\(error)"])
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

    private func ring() throws -> Int {
        try session.connection().query("select bulkhead.ring_tracked()").required(0, 0)
    }
}
