import BulkheadTesting
import Foundation
import PostgresServer

/// Runs a test on a server of its own, where no other test holds a transaction open or stops the server.
func withOwnServer(
    _ options: PostgresServer.Options = .init(),
    _ body: (PostgresServer, TestDatabase) async throws -> Void
) async throws {
    let server = try await PostgresServer.start(options)
    let database = try await TestDatabase(on: server)
    try await body(server, database)
    await server.close()
}

extension PostgresServer {
    /// Makes its next start that of a standby, which takes no writes until it is promoted.
    func becomeStandby() throws {
        try Data().write(to: URL(fileURLWithPath: "\(dataDirectory)/standby.signal"))
    }
}

extension PostgresServer {
    /// Starts a standby of this server.
    ///
    /// - Parameters:
    ///   - database: One of this server, as a superuser.
    ///   - slot: The slot that keeps its WAL and the rows that it needs; nil for none.
    ///   - settings: Those of this server that a standby must have as well.
    /// - Returns: The standby, which follows this server.
    /// - Throws: What a server says.
    func standby(
        _ database: TestDatabase,
        slot: String? = nil,
        settings: [String: String] = [:]
    ) async throws -> PostgresServer {
        var settings = settings
        settings["primary_conninfo"] = "host=\(socketDirectory) port=\(Self.port) user=\(Self.user)"
        if let slot {
            settings["primary_slot_name"] = slot
            settings["hot_standby_feedback"] = "on"
            try await database.run("select pg_create_physical_replication_slot('\(slot)')")
        }
        let standby = try await PostgresServer.start(.init(settings: settings))
        try await standby.stop()
        // The server's own user makes the copy, which must be his.
        try await database.run(
            """
            copy (select) to program $$rm -rf '\(standby.dataDirectory)' && '\(binDirectory)/pg_basebackup' \
            -D '\(standby.dataDirectory)' -h '\(socketDirectory)' -p \(Self.port) -U \(Self.user) -c fast \
            && touch '\(standby.dataDirectory)/standby.signal'$$
            """
        )
        try await standby.start()
        return standby
    }
}
