import BulkheadTesting
import Foundation
import PostgresServer
import Testing

@testable import Postgres

@Suite struct ConnectTests {
    private static let settings = SessionSettings(applicationName: "test")

    private func refusal(_ url: String) throws -> PostgresError? {
        #expect(throws: PostgresError.self) {
            _ = try Connection(DatabaseAddress(url), settings: Self.settings).isLost
        }
    }

    @Test(arguments: [
        "postgresql://u:s3cret@127.0.0.1:1/d", "postgresql://u:s3cret@/d?host=/nowhere",
        "postgresql://u:s3cret@no-such-host.invalid/d",
        "host=127.0.0.1 port=1 user=u password=s3cret",
        "postgresql://u:s3cret@127.0.0.1:1,127.0.0.1:2/d",
    ])
    func aServerThatIsNotThereIsUnavailable(_ url: String) throws {
        let error = try refusal(url)
        #expect(error?.kind == .unavailable)
        #expect(error?.description.contains("s3cret") == false)
    }

    @Test(.timeLimit(.minutes(15))) func aServerThatSaysNothingIsGivenUpInTime() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let proxy = try TestProxy(to: database)
            defer { proxy.close() }
            proxy.swallowReplies()
            let error = #expect(throws: PostgresError.self) {
                _ = try Connection(
                    DatabaseAddress(proxy.url(database)),
                    settings: Self.settings,
                    timeout: .milliseconds(200)
                ).isLost
            }
            #expect(error?.kind == .unavailable)
            #expect(error?.message.contains("no answer") == true)
        }
    }

    @Test func aDatabaseThatIsNotThereIsPermanent() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let url = database.url.replacing(database.name, with: "no_such_database")
            let error = try refusal(url)
            #expect(error?.state == .undefinedDatabase)
            #expect(error?.kind == .permanent)
            #expect(error?.message.contains("LOCATION") == false)
        }
    }

    @Test func aRoleThatIsNotThereOrMayNotLogInIsRefused() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let url = database.url.replacing("postgres@", with: "nobody_\(database.name)@")
            let error = try refusal(url)
            #expect(error?.kind == .permission)
        }
    }

    /// Wrong passwords, full servers and servers that start need one that is set up for it.
    @Test func aServerSaysWhyItTakesNobody() async throws {
        let server = try await PostgresServer.start(.init(maxConnections: 10))
        let trusting = try DatabaseAddress(server.url())
        let admin = try await TestSession.open(trusting)
        try await admin.run(
            """
            create role tenant login password '28P01-s3cret';
            create role other login;
            """
        )
        let hba = "\(server.dataDirectory)/pg_hba.conf"
        try "local all tenant scram-sha-256\nlocal all other reject\nlocal all all trust\n".write(
            toFile: hba,
            atomically: false,
            encoding: .utf8
        )
        try await admin.run("select pg_reload_conf()")
        try await admin.waitUntil("select count(*) = 3 from pg_hba_file_rules")

        let tenant = server.url().replacing("postgres@", with: "tenant@")
        let wrong = try refusal(tenant.replacing("tenant@", with: "tenant:s3cret-wrong@"))
        #expect(wrong?.state == .invalidPassword)
        #expect(wrong?.kind == .permission)
        #expect(wrong?.description.contains("s3cret") == false)
        // The password is a part of the code that the server answers.
        let short = try refusal(tenant.replacing("tenant@", with: "tenant:P@"))
        #expect(short?.kind == .permission)
        #expect(try refusal(tenant)?.kind != .permanent)
        let right = tenant.replacing("tenant@", with: "tenant:28P01-s3cret@")
        let session = try await TestSession.open(DatabaseAddress(right))
        #expect(try await session.value("select current_user") == "tenant")
        #expect(
            try refusal(server.url().replacing("postgres@", with: "other@"))?.kind == .permission
        )

        var sessions: [TestSession] = []
        var full: PostgresError?
        while full == nil, sessions.count < 20 {
            do {
                sessions.append(try await TestSession.open(trusting))
            } catch let error as PostgresError {
                full = error
            }
        }
        #expect(full?.state == .tooManyConnections)
        #expect(full?.kind == .unavailable)

        try await server.stop(.immediate)
        let gone = await #expect(throws: PostgresError.self) { try await admin.run("select 1") }
        #expect(gone?.kind == .connectionLost, "\(String(describing: gone))")
        #expect(try refusal(server.url())?.kind == .unavailable)
        // While it starts, every refusal is one that ends by itself.
        let start = Task { try await server.start() }
        for _ in 0..<2000 {
            do {
                _ = try Connection(trusting, settings: Self.settings).isLost
                break
            } catch {
                #expect(error.kind == .unavailable)
            }
            await Task.yield()
        }
        try await start.value
        await server.close()
    }
}
