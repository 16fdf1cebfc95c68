internal import Postgres

/// One reader's connection, and the result that it holds.
actor LiveSession<Row: Sendable & Equatable> {
    nonisolated let thread: ExecutorThread
    nonisolated let unownedExecutor: UnownedSerialExecutor

    private let query: LiveQuery<Row>
    private let connection: FeedConnection
    private var held: Held?
    private var lastLook: ContinuousClock.Instant?

    /// The result at a place of the feed.
    private struct Held {
        var token: String
        var rows: LiveRows<Row>
        let tables: [FeedTable]
        /// How long it took to read all rows.
        let cost: Duration
    }

    init(_ query: LiveQuery<Row>) {
        self.query = query
        thread = ExecutorThread(name: "bulkhead-live")
        unownedExecutor = thread.asUnownedSerialExecutor()
        connection = FeedConnection(
            name: "bulkhead live",
            query.address,
            query.settings,
            on: thread
        )
    }

    deinit {
        thread.stop()
    }

    /// The next snapshot that differs from the last; nil when the task was cancelled.
    func next() async throws -> LiveSnapshot<Row>? {
        if held == nil {
            do {
                return try await look() ?? LiveRows().snapshot(after: LiveRows(), origins: [])
            } catch {
                connection.close()
                if Task.isCancelled { return nil }
                throw error
            }
        }
        var start = lastLook
        return try await connection.wait {
            await self.gather(since: start)
            start = nil
            return try await self.look()
        }
    }

    /// Lets changes come together: for a moment since the last look, or from now on.
    private func gather(since start: ContinuousClock.Instant?) async {
        let end = (start ?? .now) + query.burst
        while !Task.isCancelled, .now < end { _ = await thread.wait(until: end) }
    }

    // MARK: Looking

    /// What is different now; nil when nothing is.
    private func look() async throws -> LiveSnapshot<Row>? {
        try await connection.connect()
        defer { lastLook = .now }
        var tables: [FeedTable] = []
        for name in query.source.tables {
            tables.append(try FeedTable(try await connection.query(FeedTable.question(name))))
        }
        if held == nil { noteUntracked(tables) }
        // After an ALTER TABLE the ids may be other columns', after a renaming another table's.
        guard let held, held.tables == tables else { return try await lookAtAll(tables) }
        do {
            return try await inSnapshot(of: tables) { try await self.readChanged(held) }
        } catch let error as PostgresError where asksForAll(error) {
            return try await lookAtAll(tables)
        }
    }

    private func lookAtAll(_ tables: [FeedTable]) async throws -> LiveSnapshot<Row>? {
        try await inSnapshot(of: tables) { try await self.readAll(tables) }
    }

    /// The feed does not say what has changed, or names ids that are none of this table's.
    private func asksForAll(_ error: PostgresError) -> Bool {
        error.state == .tokenExpired || SQLState(rawValue: "22000") ~= error.state
    }

    /// Runs the closure in a transaction that sees one moment, and keeps what it found.
    private func inSnapshot(
        of tables: [FeedTable],
        _ find: () async throws -> (Held, LiveSnapshot<Row>?)
    ) async throws -> LiveSnapshot<Row>? {
        do {
            try await connection.beginSnapshot(
                locking: tables.map(\.name),
                within: query.readingPatience
            )
            let (found, snapshot) = try await find()
            try await connection.endSnapshot()
            held = found
            return snapshot?.difference.isEmpty == false ? snapshot : nil
        } catch {
            try await connection.abandonSnapshot()
            throw error
        }
    }

    // MARK: Reading all

    private func readAll(_ tables: [FeedTable]) async throws -> (Held, LiveSnapshot<Row>?) {
        let token = try await connection.presentToken()
        let start = ContinuousClock.now
        let rows = try await whole(of: tables)
        let new = Held(token: token, rows: rows, tables: tables, cost: .now - start)
        let old = held?.rows ?? LiveRows()
        return (new, rows.snapshot(after: old, origins: rows.origins(in: old)))
    }

    private func whole(of tables: [FeedTable]) async throws -> LiveRows<Row> {
        var answer = try await connection.query(
            query.source.whole(of: tables),
            within: query.readingPatience
        )
        let ids = try query.source.takeIDs(from: &answer, tables)
        let rows = try (0..<answer.count).map { try query.decode(answer, $0) }
        return LiveRows(ids: ids, rows: rows)
    }

    private func noteUntracked(_ tables: [FeedTable]) {
        for table in tables where !table.isTracked {
            query.settings.note(
                "\(table.name) is not tracked: what others than jobs change in it is not heard of; "
                    + "select bulkhead.track('\(table.name)') makes it so"
            )
        }
    }

    // MARK: Reading what has changed

    private func readChanged(_ held: Held) async throws -> (Held, LiveSnapshot<Row>?) {
        let window = try await connection.window(
            since: held.token,
            of: held.tables.map(\.relation),
            page: query.page,
            most: mostIDs(held)
        )
        guard let ids = window.ids else { return try await readAll(held.tables) }
        var new = held
        new.token = window.end
        guard !ids.isEmpty else { return (new, nil) }
        guard let reread = reread(held), let changed = try await reread(ids, in: held.rows) else {
            return try await readAll(held.tables)
        }
        new.rows = changed.rows
        return (new, changed.rows.snapshot(after: held.rows, origins: changed.origins))
    }

    /// How rows are read one by one; nil where only all can be.
    private func reread(_ held: Held) -> Reread<Row>? {
        guard case .table(let table) = query.source, table.limit == nil,
            let feedTable = held.tables.first, let key = feedTable.key
        else { return nil }
        return Reread(
            connection: connection,
            table: table,
            feedTable: feedTable,
            key: key,
            decode: query.decode,
            patience: query.readingPatience
        )
    }

    /// The most ids that cost less than all rows.
    private func mostIDs(_ held: Held) -> Int {
        guard reread(held) != nil else { return 0 }
        guard query.costOfID > .zero else { return .max }
        return Int(held.cost / query.costOfID)
    }
}
