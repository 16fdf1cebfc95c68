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
