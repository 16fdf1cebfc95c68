internal import Bulkhead
internal import Postgres

/// The right to migrate the database, and to be at a step on some tables: the session of the job holds it, and it
/// ends with the session.
final class MigrationTurn {
    private let context: JobContext
    private var relations: [Int64] = []

    /// How soon it looks again; it never waits inside the server, where the wait itself would hold up an index that
    /// is built concurrently.
    private static let pause = Duration.milliseconds(100)

    /// The session that held the turn is gone.
    struct Lost: Error {}

    init(_ context: JobContext) {
        self.context = context
    }

    /// Waits until the session may be at a step on these tables, and says what it waits for.
    ///
    /// - Throws: `JobInterruption`, or the server's last word.
    func wait(on relations: [Int64] = []) async throws {
        self.relations = relations
        var said: String?
        // A server process that an earlier connection of this job left behind may have it still: that one is ended.
        while let reason = try await context.outsideTransaction(hold) {
            if said != reason { context.waits(for: reason) }
            said = reason
            try await context.sleep(for: Self.pause)
        }
        if said != nil { context.waits(for: nil) }
    }

    /// Makes sure that this very session still has the turn: a new one may have come in between.
    ///
    /// - Throws: `Lost` when another one has it.
    func require(_ connection: Connection) throws {
        if try hold(connection) != nil { throw Lost() }
    }

    private func hold(_ connection: Connection) throws -> String? {
        try connection.query("select bulkhead.hold_migration(\(relations)::oid[])").value(0, 0)
    }
}
