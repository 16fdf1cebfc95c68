internal import Postgres

/// One reader's connection to the feed, and its place there.
actor FeedSession {
    nonisolated let thread: ExecutorThread
    nonisolated let unownedExecutor: UnownedSerialExecutor

    private let feed: ChangeFeed
    private let connection: FeedConnection
    private var token: String?
    private var isStarted = false

    init(_ feed: ChangeFeed) {
        self.feed = feed
        thread = ExecutorThread(name: "bulkhead-feed")
        unownedExecutor = thread.asUnownedSerialExecutor()
        connection = FeedConnection(
            name: "bulkhead feed",
            feed.address,
            feed.settings,
            on: thread
        )
    }

    deinit {
        thread.stop()
    }

    /// Connects and finds the place to begin.
    func start() async throws {
        guard !isStarted else { return }
        do {
            _ = try await findPlace()
        } catch let error as PostgresError where error.state == .tokenExpired {
            throw TokenExpired(error)
        }
        isStarted = true
    }

    /// The next changes; empty when the task was cancelled.
    func nextPage() async throws -> [Change] {
        do {
            try await start()
        } catch {
            connection.close()
            if Task.isCancelled { return [] }
            throw error
        }
        return try await connection.wait { try await self.read() } ?? []
    }

    /// The next changes; nil when there are none.
    private func read() async throws -> [Change]? {
        let place = try await findPlace()
        let present = try await connection.presentToken()
        let rows = try await connection.query(
            """
            select id, relation, operation, ids::text, job,
                to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), token
            from bulkhead.changes_since(\(place), \(feed.relations), \(feed.page))
            """
        )
        guard !rows.isEmpty else {
            token = present
            return nil
        }
        let changes = try (0..<rows.count).map { row in try Change(rows, row) }
        token = changes.last?.token
        return changes
    }

    /// The place to go on from, with a connection that listens already: what comes after it is read or rung for.
    private func findPlace() async throws -> String {
        try await connection.connect()
        if let token { return token }
        let found: String
        switch feed.start {
        case .now: found = try await connection.presentToken()
        case .oldest:
            found = try await connection.query("select bulkhead.oldest_token()").required(0, 0)
        case .token(let given):
            // Whether the server knows it is to be said at once.
            _ = try await connection.query(
                "select from bulkhead.changes_since(\(given), null, 1)"
            ).count
            found = given
        }
        token = found
        return found
    }
}

extension Change {
    fileprivate init(_ rows: borrowing Rows, _ row: Int) throws {
        let operation: String = try rows.required(row, 2)
        id = try rows.required(row, 0)
        relation = try rows.required(row, 1)
        // One of a newer schema: whatever it is, reading again does no harm.
        self.operation = Batch.Operation(rawValue: operation) ?? .reset
        ids = try rows.value(row, 3)
        job = try rows.value(row, 4)
        at = try rows.required(row, 5)
        token = try rows.required(row, 6)
    }
}
