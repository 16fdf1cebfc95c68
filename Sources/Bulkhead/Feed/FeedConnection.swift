internal import FoundationEssentials
internal import Postgres

/// A connection that hears of changes, and is opened again when it is lost.
///
/// It belongs to the actor that made it, and waits on its thread.
final class FeedConnection {
    private let name: String
    private let address: DatabaseAddress
    private let settings: FeedSettings
    private let thread: ExecutorThread
    private var connection: Connection?
    private var isAway = false
    /// Whether notifications can come; nil before the first connection.
    private var listens: Bool?
    private var lastRung: ContinuousClock.Instant = .now

    /// A channel on which nobody else rings.
    private let ownChannel = "bulkhead_" + UUID().uuidString.lowercased()

    private static let longestPause: Duration = .seconds(5)

    init(
        name: String,
        _ address: DatabaseAddress,
        _ settings: FeedSettings,
        on thread: ExecutorThread
    ) {
        self.name = name
        self.address = address
        self.settings = settings
        self.thread = thread
    }

    /// Ends the session; the next use opens another.
    func close() {
        connection = nil
    }

    /// What the closure finds, as soon as that is something; nil when the task was cancelled.
    ///
    /// What trying again may mend is tried again.
    func wait<Value>(for find: () async throws -> Value?) async throws -> Value? {
        var pause: Duration = .milliseconds(100)
        while !Task.isCancelled {
            do {
                let found = try await find()
                comeBack()
                pause = .milliseconds(100)
                if let found { return found }
                try await waitForRing()
            } catch let error as PostgresError {
                close()
                if Task.isCancelled { break }
                try judge(error)
                await thread.sleep(for: pause)
                pause = min(pause * 2, Self.longestPause)
            }
        }
        close()
        return nil
    }

    // MARK: Reading

    func query(_ sql: SQL, within limit: Duration? = nil) async throws -> Rows {
        guard let connection else { throw PostgresError.notConnected }
        return try await connection.query(
            sql,
            on: thread,
            until: .now + (limit ?? settings.patience)
        )
    }

    func presentToken() async throws -> String {
        try await query("select bulkhead.current_token()").required(0, 0)
    }

    /// Opens a transaction in which everything is seen as it was at one moment.
    ///
    /// The tables are locked before that moment: a TRUNCATE behind it would empty them for readers of an older
    /// moment too, as would an ALTER TABLE that rewrites them.
    func beginSnapshot(locking tables: [String], within limit: Duration) async throws {
        _ = try await query("begin isolation level repeatable read, read only, not deferrable")
            .count
        if !tables.isEmpty {
            let names = tables.joined(separator: ", ")
            _ = try await query("lock table \(unsafe: names) in access share mode", within: limit)
                .count
        }
        _ = try await query(sessionSettings.statement).count
    }

    func endSnapshot() async throws {
        _ = try await query("commit").count
    }

    /// Ends the transaction after an error.
    func abandonSnapshot() async throws {
        guard let connection, !connection.isLost, connection.isInTransaction else { return }
        _ = try await query("rollback").count
    }

    // MARK: Connecting

    /// Nothing is set for the session, which behind a pooler would be another client's later.
    private var sessionSettings: SessionSettings {
        SessionSettings(applicationName: name, isLocal: true)
    }

    /// Sees to it that there is a connection that listens: what comes from here on is rung for.
    func connect() async throws {
        guard connection?.isLost != false else { return }
        connection = nil
        let opened = try Connection(address, settings: sessionSettings, timeout: settings.patience)
        connection = opened
        if try await isBehindTransactionPooler(opened) {
            if listens != false {
                settings.note(
                    "\(address) is a pooler in transaction mode, where LISTEN cannot work: looking for "
                        + "changes every \(settings.pollWithoutListening) instead"
                )
            }
            listens = false
            return
        }
        listens = true
        lastRung = .now
        for statement: SQL in [
            "select set_config('application_name', \(name), false)", "listen bulkhead_change",
            "listen \(identifier: ownChannel)",
        ] {
            _ = try await query(statement).count
        }
    }

    /// Only a pooler announces another process than the one that answers.
    private func isBehindTransactionPooler(_ opened: Connection) async throws -> Bool {
        let process = try await query("select pg_backend_pid()").required(0, 0, as: Int32.self)
        guard process != opened.announcedProcessID else { return false }
        return try PoolerProbe.handsOutTransactions(address)
    }

    /// Throws unless it may help to try again.
    private func judge(_ error: PostgresError) throws {
        if error.state == .tokenExpired { throw TokenExpired(error) }
        switch error.kind {
        case .connectionLost, .unavailable, .transient, .cancelled:
            if !isAway {
                settings.note("the server is away, waiting for it: \(error.message)")
            }
            isAway = true
        default:
            throw error
        }
    }

    private func comeBack() {
        if isAway { settings.note("the server is back") }
        isAway = false
    }

    // MARK: Waiting

    /// Waits until someone rings, or it is time to look.
    private func waitForRing() async throws {
        guard let connection else { return }
        guard listens == true else {
            await thread.sleep(for: settings.pollWithoutListening)
            return
        }
        let deadline = min(.now + settings.poll, lastRung + settings.silence)
        let arrived = try await connection.notifications(on: thread, until: deadline)
        if arrived.contains(where: { $0.channel != ownChannel }) {
            lastRung = .now
        } else if .now >= lastRung + settings.silence {
            try await ringForItself(connection)
        }
    }

    /// Finds out whether it would hear a ring: the socket may be dead, or the session another one.
    private func ringForItself(_ connection: Connection) async throws {
        _ = try await query("select pg_notify(\(ownChannel), '')").count
        let deadline = ContinuousClock.now + settings.patience
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
