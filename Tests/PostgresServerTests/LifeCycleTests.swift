import Foundation
import PostgresServer
import Testing

@Suite(.timeLimit(.minutes(15)))
struct LifeCycleTests {
    @Test func `answers on its socket and on no network address`() async throws {
        let server = try await PostgresServer.start()
        let places = try await server.answer(
            to: "select current_setting('listen_addresses') || current_setting('server_encoding')"
        )
        #expect(places == "UTF8")
        #expect(server.socketDirectory.hasPrefix("/tmp/"))
        #expect("\(server.socketDirectory)/.s.PGSQL.5432".utf8.count <= 107)
        let folder = try FileManager.default.attributesOfItem(atPath: server.socketDirectory)
        #expect(folder[.posixPermissions] as? Int == 0o700)
        await server.close()
    }

    @Test(arguments: [PostgresServer.StopMode.fast, .immediate])
    func `keeps its data over a restart`(mode: PostgresServer.StopMode) async throws {
        let server = try await PostgresServer.start()
        _ = try await server.answer(to: "create table kept as select 42 as value")
        let before = try #require(try server.postmasterPID())
        try await server.restart(mode)
        #expect(try await server.answer(to: "table kept") == "42")
        #expect(try server.postmasterPID() != before)
        #expect(!PostgresServer.isAlive(before))
        await server.close()
    }

    @Test func `may be stopped and started twice`() async throws {
        let server = try await PostgresServer.start()
        try await server.start()
        try await server.stop()
        try await server.stop()
        #expect(try server.postmasterPID() == nil)
        try await server.start()
        #expect(try await server.answer(to: "select 1") == "1")
        await server.close()
    }

    @Test func `starts again after kill -9 with its data`() async throws {
        let server = try await PostgresServer.start()
        _ = try await server.answer(to: "create table kept as select 42 as value")
        let postmaster = try #require(try server.postmasterPID())
        try await server.kill()
        #expect(!PostgresServer.isAlive(postmaster))
        #expect(try server.postmasterPID() == nil)
        try await server.start()
        #expect(try await server.answer(to: "table kept") == "42")
        await server.close()
    }

    @Test func `starts again when another killed its first process`() async throws {
        let server = try await PostgresServer.start()
        let backend = try Program(
            ["\(server.binDirectory)/psql", "-XAtq"]
                + ["-c", "select pg_backend_pid()", "-c", "select pg_sleep(600)"],
            environment: server.environment()
        )
        let orphan = try #require(Int32(try await backend.line()))
        #expect(Foundation.kill(try #require(try server.postmasterPID()), SIGKILL) == 0)
        try await server.start()
        #expect(try await server.answer(to: "select 1") == "1")
        #expect(!PostgresServer.isAlive(orphan))
        await server.close()
    }

    @Test func `leaves nothing when it is closed`() async throws {
        let server = try await PostgresServer.start()
        let postmaster = try #require(try server.postmasterPID())
        await server.close()
        #expect(!PostgresServer.isAlive(postmaster))
        #expect(!FileManager.default.fileExists(atPath: server.socketDirectory))
        await #expect(throws: PostgresServerError.self) { try await server.start() }
    }

    @Test func `is one for the whole process when shared`() async throws {
        async let first = PostgresServer.shared
        async let second = PostgresServer.shared
        #expect(try await first === second)
        #expect(try await first.answer(to: "show fsync") == "off")
    }
}
