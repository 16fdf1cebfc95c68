import Bulkhead
import BulkheadTesting
import Postgres
import PostgresServer
import Testing

@Suite struct RingTests {
    /// The rings that a script causes; the last one is rung by the test, so that silence is seen as well.
    private func rings(of script: String, _ database: TestDatabase) async throws -> [String] {
        let listener = try await database.session()
        try await listener.use { try $0.listen("bulkhead_job") }
        try await database.run(script)
        try await database.run("notify bulkhead_job, 'end'")
        var payloads: [String] = []
        while payloads.last != "end" {
            payloads += try await listener.notifications().map(\.payload)
        }
        return payloads.dropLast()
    }

    @Test func manyJobsOfOneTransactionRingOnce() async throws {
        try await TestDatabase.with { database in
            let rings = try await rings(
                of: "begin; select bulkhead.enqueue('k') from generate_series(1, 1000); commit",
                database
            )
            #expect(rings.count == 1)
        }
    }

    @Test func aJobThatRunsEarlierRingsAgain() async throws {
        try await TestDatabase.with { database in
            let rings = try await rings(
                of: """
                    begin;
                    select bulkhead.enqueue('k', priority => p) from unnest('{5,5,7,3,4,3,-1}'::int[]) p;
                    commit
                    """,
                database
            )
            #expect(rings.count == 3)
            #expect(rings.last?.contains("\"priority\": -1") == true)
        }
    }

    @Test func eachQueueAndEachTransactionRings() async throws {
        try await TestDatabase.with { database in
            let rings = try await rings(
                of: """
                    begin;
                    select bulkhead.enqueue('k', queue => q) from unnest('{a,b,a,b}'::text[]) q;
                    commit;
                    begin; select bulkhead.enqueue('k', queue => 'a'); commit;
                    begin; select bulkhead.enqueue('k', queue => 'a', notify => false); commit
                    """,
                database
            )
            #expect(rings.count == 3)
        }
    }

    @Test func aQueueOfAnyNameRings() async throws {
        try await TestDatabase.with { database in
            let name = String(repeating: "\u{1}😀\"\\", count: 32)
            let listener = try await database.session()
            try await listener.use { try $0.listen("bulkhead_job") }
            _ = try await database.rows("select bulkhead.enqueue('k', queue => \(name))")
            #expect(try await listener.notifications().count == 1)
        }
    }

    @Test func aJobWithoutARingCanBePrepared() async throws {
        let server = try await PostgresServer.start(
            .init(settings: ["max_prepared_transactions": "5"])
        )
        let database = try await TestDatabase(on: server)
        let session = try await database.session()
        try await session.run("begin; select bulkhead.enqueue('k', notify => false)")
        try await session.run("prepare transaction 'p'")
        try await database.expect("select count(*) from bulkhead.job", "0")
        try await session.run("commit prepared 'p'")
        try await database.expect("select count(*) from bulkhead.job", "1")
        try await session.run("begin; select bulkhead.enqueue('k')")
        let error = await #expect(throws: PostgresError.self) {
            try await session.run("prepare transaction 'q'")
        }
        #expect(error?.state?.rawValue == "0A000")
        await server.close()
    }
}
