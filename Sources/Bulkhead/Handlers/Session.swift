internal import Postgres

/// An actor's connection, opened when it is needed and opened again after it was lost.
final class Session {
    private let address: DatabaseAddress
    private let settings: SessionSettings
    private let canceller: Canceller
    private let waitsForServer: Bool
    private let prepare: (Connection) throws(PostgresError) -> Void
    private var present: Connection?
    /// Since when the present connection has lived unbroken.
    private(set) var openedAt: ContinuousClock.Instant?

    /// Describes a session.
    ///
    /// - Parameters:
    ///   - address: Where to connect.
    ///   - settings: What it relies on.
    ///   - canceller: Cancels its statements.
    ///   - waitsForServer: Whether a server that lets nobody in counts as one that is away: a password
    ///     that was changed is no fault of the job that meets it.
    ///   - prepare: Is called with each new connection.
    init(
        _ address: DatabaseAddress,
        _ settings: SessionSettings,
        canceller: Canceller = Canceller(),
        waitsForServer: Bool = false,
        prepare: @escaping (Connection) throws(PostgresError) -> Void = { _ in }
    ) {
        self.address = address
        self.settings = settings
        self.canceller = canceller
        self.waitsForServer = waitsForServer
        self.prepare = prepare
    }

    /// The open connection.
    ///
    /// - Throws: When it is not open and cannot be opened.
    func connection() throws(PostgresError) -> Connection {
        if let present, !present.isLost { return present }
        drop()
        let connection = try open()
        try prepare(connection)
        present = connection
        openedAt = .now
        return connection
    }

    private func open() throws(PostgresError) -> Connection {
        do throws(PostgresError) {
            return try Connection(address, settings: settings, canceller: canceller)
        } catch {
            var error = error
            if waitsForServer, error.kind == .permission || error.kind == .permanent {
                error.kind = .unavailable
            }
            throw error
        }
    }

    /// Closes the connection; the next use opens a new one.
    func drop() {
        present = nil
        openedAt = nil
    }

    /// Makes the connection ready for the next use after a failure.
    func recover() {
        do {
            try present?.rollback()
        } catch {
            drop()
        }
        if present?.isLost == true { drop() }
    }
}
