public import Postgres

/// A session for tests: an actor on a thread of its own, so that what blocks it blocks nobody else.
public actor TestSession {
    private let thread: ExecutorThread
    /// The owner's thread.
    nonisolated public let unownedExecutor: UnownedSerialExecutor
    private let address: DatabaseAddress
    private var connection: Connection?

    /// Opens a session.
    ///
    /// - Throws: When the server does not take it.
    public static func open(_ address: DatabaseAddress) async throws -> TestSession {
        let session = TestSession(address)
        try await session.connect()
        return session
    }

    private init(_ address: DatabaseAddress) {
        self.address = address
        thread = ExecutorThread(name: "bulkhead-test")
        unownedExecutor = thread.asUnownedSerialExecutor()
    }

    deinit {
        thread.stop()
    }

    private func connect() throws {
        connection = try Connection(
            address,
            settings: SessionSettings(applicationName: "bulkhead test")
        )
    }

    /// Lends the connection.
    ///
    /// - Throws: What the closure throws.
    public func use<Result: Sendable>(_ body: @Sendable (Connection) throws -> Result) throws
        -> Result
    {
        guard let connection else { throw TimedOut(what: "the session is closed") }
        return try body(connection)
    }

    /// Runs statements.
    ///
    /// - Throws: What the server says.
    public func run(_ script: String) throws {
        _ = try use { try $0.run(script: script).count }
    }

    /// The rows of a query, each value as text.
    ///
    /// - Throws: What the server says.
    public func rows(_ query: SQL) throws -> [[String?]] {
        try use { connection in
            let rows = try connection.query(query)
            return try (0..<rows.count).map { row in
                try (0..<rows.columnCount).map { try rows.value(row, $0, as: String.self) }
            }
        }
    }

    /// The first value of a query.
    ///
    /// - Throws: What the server says.
    public func value(_ query: SQL) throws -> String? {
        try rows(query).first?.first ?? nil
    }

    /// Waits until a query says `t`.
    ///
    /// - Throws: `TimedOut` when it does not within the time.
    public func waitUntil(_ query: SQL, within limit: Duration = .seconds(30)) async throws {
        let deadline = ContinuousClock.now + limit
        while try value(query) != "t" {
            guard .now < deadline else { throw TimedOut(what: "\(query)") }
            await thread.sleep(for: .milliseconds(20))
        }
    }

    /// Waits for a notification.
    ///
    /// - Throws: When the session has ended.
    public func notifications(within limit: Duration = .seconds(10)) async throws -> [Notification]
    {
        guard let connection else { return [] }
        return try await connection.notifications(on: thread, until: .now + limit)
    }

    /// Ends the session.
    public func close() {
        connection = nil
    }
}

/// What a test waited for did not come.
public struct TimedOut: Error, CustomStringConvertible {
    /// What it was.
    public let what: String

    /// Says what did not come.
    public init(what: String) {
        self.what = what
    }

    /// The same in words.
    public var description: String { "timed out: \(what)" }
}
