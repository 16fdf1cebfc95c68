import PostgresServer
import Testing

@Suite(.timeLimit(.minutes(15)))
struct OptionsTests {
    @Test func `sets what it is told, quotes included`() async throws {
        let options = PostgresServer.Options(
            fsync: true,
            maxConnections: 17,
            settings: ["cluster_name": "it's", "max_prepared_transactions": "5"]
        )
        let server = try await PostgresServer.start(options)
        let names = ["fsync", "max_connections", "cluster_name", "max_prepared_transactions"]
        var values: [String] = []
        for name in names {
            values.append(try await server.answer(to: "show \(name)"))
        }
        #expect(values == ["on", "17", "it's", "5"])
        await server.close()
    }

    @Test func `says in one line what the server complains of`() async throws {
        let options = PostgresServer.Options(settings: ["shared_buffers": "nonsense"])
        let error = await #expect(throws: PostgresServerError.self) {
            _ = try await PostgresServer.start(options)
        }
        let text = try #require(error?.description)
        #expect(text.contains("pg_ctl start"))
        #expect(text.contains("invalid value for parameter \"shared_buffers\": \"nonsense\""))
        #expect(!text.contains("\n"))
    }

    @Test(arguments: ["plain", "with space", "50%/ü'\\"])
    func `names any database in its addresses`(name: String) async throws {
        let server = try await PostgresServer.shared
        let identifier = "\"\(name)\""
        _ = try await server.answer(to: "create database \(identifier)")
        for address in [server.url(database: name), server.conninfo(database: name)] {
            let program = try Program(
                ["\(server.binDirectory)/psql", "-XAtq", address]
                    + ["-c", "select current_database()"]
            )
            #expect(try await program.line() == name)
            #expect(try await program.exitStatus() == 0)
        }
        _ = try await server.answer(to: "drop database \(identifier)")
    }
}
