internal import Bulkhead
internal import Foundation
internal import Postgres
internal import PostgresServer

/// The server of a test run, and the database that all test databases are copied from.
final class TestServer: Sendable {
    private let base: Base
    private let templateTask: Task<String, any Error>

    private enum Base {
        case own(PostgresServer)
        case given(String)
    }

    static var shared: TestServer {
        get async throws { try await start.value }
    }

    private static let start = Task.detached {
        if let url = ProcessInfo.processInfo.environment["BULKHEAD_TEST_DATABASE_URL"] {
            return TestServer(.given(url))
        }
        return TestServer(.own(try await PostgresServer.shared))
    }

    private init(_ base: Base) {
        self.base = base
        templateTask = Task.detached { try await Self.makeTemplate(base) }
    }

    /// The name of a database with the service schema and nobody in it.
    var template: String {
        get async throws { try await templateTask.value }
    }

    func url(of database: String) -> String { Self.url(base, of: database) }

    func address(of database: String) throws -> DatabaseAddress {
        try DatabaseAddress(url(of: database))
    }

    private static func url(_ base: Base, of database: String) -> String {
        switch base {
        case .own(let server): return server.url(database: database)
        case .given(let url):
            // The database is the last part of the path.
            let parts = url.split(separator: "?", maxSplits: 1)
            let head = parts[0].split(separator: "/").dropLast().joined(separator: "/")
                .replacing(":/", with: "://")
            return "\(head)/\(database)" + (parts.count > 1 ? "?\(parts[1])" : "")
        }
    }

    private static func makeTemplate(_ base: Base) async throws -> String {
        let name = "template_" + UUID().uuidString.lowercased().filter { $0 != "-" }
        let admin = try await TestSession.open(DatabaseAddress(url(base, of: "postgres")))
        try await admin.run("create database \(name) template template0")
        let session = try await TestSession.open(DatabaseAddress(url(base, of: name)))
        try await session.install()
        await session.close()
        return name
    }
}

extension TestSession {
    /// Installs the service schema.
    func install() throws {
        try use { connection in try Installation(connection).installNow() }
    }
}
