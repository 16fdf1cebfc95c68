import Bulkhead
import BulkheadTesting
import Postgres
import Testing

struct NoOperation: JobHandler {
    let kind = "noop"
    let isSmall = true
    func run(_ context: JobContext) async throws -> JSONText? { nil }
}

@Suite struct DaemonTests {
    @Test func aDaemonDrainsSmallJobs() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('noop') from generate_series(1, 1000)")
            let daemon = try await TestDaemon.start(database, [NoOperation()]) { $0.drains = true }
            try await daemon.wait()
            #expect(
                try await database.rows("select state, count(*) from bulkhead.job group by 1") == [
                    ["completed", "1000"]
                ]
            )
        }
    }

    @Test func aJobWhoseClaimLostItsAnswerIsGivenBackAndRun() async throws {
        try await TestDatabase.with { database in
            let daemon = try await TestDaemon.start(database, [NoOperation()]) {
                $0.poll = .milliseconds(200)
            }
            // What a claim leaves that was committed while its connection was cut.
            try await database.run(
                """
                insert into bulkhead.job (kind, state, attempt, daemon, started_at)
                select 'noop', 'running', 1, id, now() from bulkhead.daemon
                """
            )
            try await database.waitUntil(
                "select state = 'completed' and attempt = 1 from bulkhead.job"
            )
            try await daemon.stop()
        }
    }
}
