internal import FoundationEssentials
internal import Postgres

/// One reader's connection to the feed, and its place there.
actor FeedSession {
    nonisolated let thread: ExecutorThread
    nonisolated let unownedExecutor: UnownedSerialExecutor

    private let feed: ChangeFeed
    private var connection: Connection?
    private var token: String?
    private var isStarted = false
    private var isAway = false
    /// Whether notifications can come; nil before the first connection.
    private var listens: Bool?
    private var lastRung: ContinuousClock.Instant = .now

    /// A channel on which nobody else rings.
    private let ownChannel = "bulkhead_" + UUID().uuidString.lowercased()

    private static let longestPause: Duration = .seconds(5)

    init(_ feed: ChangeFeed) {
        self.feed = feed
        thread = ExecutorThread(name: "bulkhead-feed")
        unownedExecutor = thread.asUnownedSerialExecutor()
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
            throw TokenExpired(reason: error.detail ?? error.message)
        }
        isStarted = true
    }

    /// The next changes; empty when the task was cancelled.
    func nextPage() async throws -> [Change] {
        do {
            try await start()
        } catch {
            connection = nil
            if Task.isCancelled { return [] }
            throw error
        }
        var pause: Duration = .milliseconds(100)
        while !Task.isCancelled {
            do {
                let changes = try await read()
                comeBack()
                pause = .milliseconds(100)
                if !changes.isEmpty { return changes }
                try await waitForRing()
            } catch let error as PostgresError {
                connection = nil
                if Task.isCancelled { break }
                try judge(error)
                await thread.sleep(for: pause)
                pause = min(pause * 2, Self.longestPause)
            }
        }
        connection = nil
        return []
    }

    // MARK: Reading

    private func read() async throws -> [Change] {
        let place = try await findPlace()
        let present = try await presentToken()
        let rows = try await query(
            """
            select id, relation, operation, ids::text, job,
                to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), token
            from bulkhead.changes_since(\(place), \(feed.relations), \(feed.page))
            """
        )
        guard !rows.isEmpty else {
            token = present
            return []
        }
        let changes = try (0..<rows.count).map { row in try Change(rows, row) }
        token = changes.last?.token
        return changes
    }

    /// The place to go on from, with a connection that listens already: what comes after it is read or rung for.
    private func findPlace() async throws -> String {
        if connection?.isLost != false { try await connect() }
        if let token { return token }
        let found: String
        switch feed.start {
        case .now: found = try await presentToken()
        case .oldest: found = try await value("select bulkhead.oldest_token()")
        case .token(let given):
            // Whether the server knows it is to be said at once.
            _ = try await query("select from bulkhead.changes_since(\(given), null, 1)").count
            found = given
        }
        token = found
        return found
    }

    private func presentToken() async throws -> String {
        try await value("select bulkhead.current_token()")
    }

    private func value(_ sql: SQL) async throws -> String {
        try await query(sql).required(0, 0)
    }

    private func query(_ sql: SQL) async throws -> Rows {
        guard let connection else { throw PostgresError.notConnected }
        return try await connection.query(sql, on: thread, until: .now + feed.patience)
    }

    // MARK: Connecting

    /// Opens a connection and listens, before anything is read.
    private func connect() async throws {
        connection = nil
        // Nothing is set for the session, which behind a pooler would be another client's later.
        let settings = SessionSettings(applicationName: "bulkhead feed", isLocal: true)
        let opened = try Connection(feed.address, settings: settings, timeout: feed.patience)
        connection = opened
        if try await isBehindTransactionPooler(opened) {
            if listens != false {
                feed.note(
                    "\(feed.address) is a pooler in transaction mode, where LISTEN cannot work: looking for "
                        + "changes every \(feed.pollWithoutListening) instead"
                )
            }
            listens = false
            return
        }
        listens = true
        lastRung = .now
        for statement: SQL in [
            "set application_name = 'bulkhead feed'", "listen bulkhead_change",
            "listen \(identifier: ownChannel)",
        ] {
            _ = try await query(statement).count
        }
    }

    /// Only a pooler announces another process than the one that answers.
    private func isBehindTransactionPooler(_ opened: Connection) async throws -> Bool {
        let process = try await query("select pg_backend_pid()").required(0, 0, as: Int32.self)
        guard process != opened.announcedProcessID else { return false }
        return try PoolerProbe.handsOutTransactions(feed.address)
    }

    /// Ends the sequence unless it may help to try again.
    private func judge(_ error: PostgresError) throws {
        if error.state == .tokenExpired {
            throw TokenExpired(reason: error.detail ?? error.message)
        }
        switch error.kind {
        case .connectionLost, .unavailable, .transient, .cancelled:
            if !isAway { feed.note("the server is away, waiting for it: \(error.message)") }
            isAway = true
        default:
            throw error
        }
    }

    private func comeBack() {
        if isAway { feed.note("the server is back") }
        isAway = false
    }

    // MARK: Waiting

    /// Waits until someone rings, or it is time to look.
    private func waitForRing() async throws {
        guard let connection else { return }
        guard listens == true else {
            await thread.sleep(for: feed.pollWithoutListening)
            return
        }
        let deadline = min(.now + feed.poll, lastRung + feed.silence)
        let arrived = try await connection.notifications(on: thread, until: deadline)
        if arrived.contains(where: { $0.channel != ownChannel }) {
            lastRung = .now
        } else if .now >= lastRung + feed.silence {
            try await ringForItself(connection)
        }
    }

    /// Finds out whether it would hear a ring: the socket may be dead, or the session another one.
    private func ringForItself(_ connection: Connection) async throws {
        _ = try await query("select pg_notify(\(ownChannel), '')").count
        let deadline = ContinuousClock.now + feed.patience
        while !Task.isCancelled {
            let arrived = try await connection.notifications(on: thread, until: deadline)
            if arrived.contains(where: { $0.channel == ownChannel }) {
                lastRung = .now
                return
            }
            // Whatever else rang is about to be read.
            if arrived.isEmpty, .now >= deadline { throw PostgresError.deaf }
        }
    }
}

extension PostgresError {
    fileprivate static let notConnected = PostgresError(
        state: .connectionFailure,
        message: "there is no connection"
    )
    fileprivate static let deaf = PostgresError(
        state: .connectionFailure,
        message: "notifications do not arrive on this connection"
    )
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
