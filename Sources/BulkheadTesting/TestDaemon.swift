public import Bulkhead
internal import Postgres

/// A daemon inside the test's process.
public final class TestDaemon: Sendable {
    private let daemon: Daemon
    private let run: Task<Void, any Error>

    /// Starts a daemon on a database, and waits until it takes jobs.
    ///
    /// - Parameters:
    ///   - database: Where it works.
    ///   - handlers: What it can do.
    ///   - log: Where it writes its log; nowhere unless given.
    ///   - configure: Changes the usual settings.
    /// - Returns: The running daemon.
    /// - Throws: When it cannot start.
    public static func start(
        _ database: TestDatabase,
        _ handlers: [any JobHandler],
        log: Logger = Logger(descriptor: -1),
        configure: (inout DaemonConfiguration) -> Void = { _ in }
    ) async throws -> TestDaemon {
        var configuration = DaemonConfiguration(address: database.address, host: "test")
        configure(&configuration)
        let daemon = Daemon(configuration, handlers: handlers, log: log)
        let (ready, signal) = AsyncStream<Void>.makeStream()
        let run = Task {
            defer { signal.finish() }
            try await daemon.run(ready: { signal.yield() })
        }
        for await _ in ready { return TestDaemon(daemon, run) }
        try await run.value
        return TestDaemon(daemon, run)
    }

    private init(_ daemon: Daemon, _ run: Task<Void, any Error>) {
        self.daemon = daemon
        self.run = run
    }

    /// Tells it to stop, as SIGTERM does, and waits for its end.
    ///
    /// - Throws: What ended it.
    public func stop() async throws {
        daemon.stop()
        try await run.value
    }

    /// Tells it to stop and does not wait.
    public func beginStop() {
        daemon.stop()
    }

    /// Waits for its end: it was told to stop or to drain.
    ///
    /// - Throws: What ended it.
    public func wait() async throws {
        try await run.value
    }
}
