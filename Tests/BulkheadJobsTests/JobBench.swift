import Bulkhead
import BulkheadTesting
import Postgres

/// A database and a directory for files of one test, and daemons of the test's process.
protocol JobBench {
    var database: TestDatabase { get }
    var folder: TemporaryDirectory { get }
    var log: TestLog { get }
    /// What its daemons can do.
    var handlers: [any JobHandler] { get }

    init(database: TestDatabase, folder: TemporaryDirectory, log: TestLog)
}

extension JobBench {
    static func with<Result>(
        _ setup: String,
        _ body: (Self) async throws -> Result
    ) async throws -> Result {
        try await TestDatabase.with { database in
            try await database.run(setup)
            return try await body(
                Self(
                    database: database,
                    folder: try TemporaryDirectory(),
                    log: try TestLog(level: .debug)
                )
            )
        }
    }

    /// Runs a daemon until nothing is left to do.
    func drain(configure: (inout DaemonConfiguration) -> Void = { _ in }) async throws {
        let daemon = try await startDaemon { configuration in
            configuration.drains = true
            configure(&configuration)
        }
        try await daemon.wait()
    }

    /// Starts a daemon that goes on until it is told to stop, and then cuts off what it is doing.
    func startDaemon(
        configure: (inout DaemonConfiguration) -> Void = { _ in }
    ) async throws -> TestDaemon {
        try await TestDaemon.start(database, handlers, log: log.logger) { configuration in
            configuration.grace = .zero
            configure(&configuration)
        }
    }

    func rows(_ query: String) async throws -> [[String?]] {
        try await database.rows(SQL(unsafe: query))
    }

    func value(_ query: String) async throws -> String? {
        try await database.value(SQL(unsafe: query))
    }
}
