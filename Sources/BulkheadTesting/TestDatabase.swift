internal import Foundation
public import Postgres
internal import PostgresServer

/// A database of its own for one test, with the service schema installed.
///
/// It lies on a private server that is started once for the whole test run; set `BULKHEAD_TEST_DATABASE_URL`
/// to use another server, as a role that may create databases.
public struct TestDatabase: Sendable {
    /// The database's name.
    public let name: String
    /// The database's address as a URL.
    public let url: String
    /// The database's address.
    public let address: DatabaseAddress

    /// Makes a database, runs the closure with it, and drops it.
    ///
    /// - Parameters:
    ///   - hasSchema: Whether the service schema is installed.
    ///   - body: The test.
    /// - Returns: What the closure returns.
    /// - Throws: What the closure or the server throws.
    public static func with<Result>(
        hasSchema: Bool = true,
        _ body: (TestDatabase) async throws -> Result
    ) async throws -> Result {
        await gate.enter()
        do {
            let result = try await withOwn(hasSchema: hasSchema, body)
            await gate.leave()
            return result
        } catch {
            await gate.leave()
            throw error
        }
    }

    /// Tests run side by side without a limit; a server and a small machine have one.
    private static let gate = Gate(width: 10)

    private static func withOwn<Result>(
        hasSchema: Bool,
        _ body: (TestDatabase) async throws -> Result
    ) async throws -> Result {
        let server = try await TestServer.shared
        let name = "test_" + UUID().uuidString.lowercased().filter { $0 != "-" }
        let template = hasSchema ? try await server.template : "template0"
        let admin = try await TestSession.open(server.address(of: "postgres"))
        try await admin.run("create database \(name) template \(template)")
        let url = server.url(of: name)
        let result: Swift.Result<Result, any Error>
        do {
            result = .success(
                try await body(TestDatabase(name: name, url: url, address: DatabaseAddress(url)))
            )
        } catch {
            result = .failure(error)
        }
        try await admin.run("drop database \(name) with (force)")
        return try result.get()
    }

    /// A database that is there already, on a server of the test's own; installs the schema.
    ///
    /// - Throws: What the server says.
    public static func onServer(_ url: String) async throws -> TestDatabase {
        let database = TestDatabase(name: "postgres", url: url, address: try DatabaseAddress(url))
        try await database.session().install()
        return database
    }

    /// A session of its own, on a thread of its own.
    ///
    /// - Throws: When the server does not take it.
    public func session() async throws -> TestSession {
        try await TestSession.open(address)
    }

    /// Runs statements in a session of their own.
    ///
    /// - Throws: What the server says.
    public func run(_ script: String) async throws {
        try await session().run(script)
    }

    /// The rows of a query, each value as text.
    ///
    /// - Throws: What the server says.
    public func rows(_ query: SQL) async throws -> [[String?]] {
        try await session().rows(query)
    }

    /// The first value of a query.
    ///
    /// - Throws: What the server says.
    public func value(_ query: SQL) async throws -> String? {
        try await rows(query).first?.first ?? nil
    }

    /// Waits until a query says `t`.
    ///
    /// - Throws: `TimedOut` when it does not within the time.
    public func waitUntil(_ query: SQL, within limit: Duration = .seconds(30)) async throws {
        try await session().waitUntil(query, within: limit)
    }
}
