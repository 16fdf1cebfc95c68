import BulkheadTesting
import Postgres
import Testing

@testable import Bulkhead

@Suite struct OutcomeTests {
    private struct Odd: Error {}

    @Test func anyErrorIsTriedAgainLater() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k', max_attempts => 2)")
            let daemon = try await TestDaemon.start(
                database,
                [TestHandler("k") { _ in throw Odd() }]
            ) {
                $0.drains = true
            }
            try await daemon.wait()
            #expect(
                try await database.rows(
                    "select j.state, e.attempt, e.message from bulkhead.job j, bulkhead.job_error e order by e.id"
                ) == [["discarded", "1", "Odd()"], ["discarded", "2", "Odd()"]]
            )
        }
    }

    @Test func aResultIsStored() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k'), bulkhead.enqueue('s')")
            let handler = TestHandler.returning("k") { _ in JSONText("{\"read\": 1.10}") }
            let small = TestHandler.returning("s", isSmall: true) { _ in JSONText("{\"s\": 1}") }
            let daemon = try await TestDaemon.start(database, [handler, small]) { $0.drains = true }
            try await daemon.wait()
            #expect(
                try await database.rows("select state, result from bulkhead.job order by id") == [
                    ["completed", "{\"read\": 1.10}"], ["completed", "{\"s\": 1}"],
                ]
            )
        }
    }

    @Test(arguments: ["not JSON", "{\"a\": \"\\u0000\"}", "{\"a\": \"\0\"}", ""])
    func aResultThatTheServerRefusesEndsTheJobAndSaysSo(_ result: String) async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k')")
            let handler = TestHandler.returning("k") { _ in JSONText(result) }
            let daemon = try await TestDaemon.start(database, [handler]) { $0.drains = true }
            try await daemon.wait()
            try await database.expect(
                "select state = 'discarded' and last_error like 'what the job ended with%' from bulkhead.job_status",
                "t"
            )
        }
    }

    private func name(_ kind: PostgresError.Kind, _ interruption: JobInterruption? = nil) -> String?
    {
        Outcome(PostgresError(state: nil, message: "m", kind: kind), interruption: interruption)
            .name
    }

    @Test func anErrorOfTheServerIsJudgedByItsKind() {
        for kind: PostgresError.Kind in [.connectionLost, .unavailable, .transient, .cancelled] {
            #expect(name(kind) == "retry")
        }
        for kind: PostgresError.Kind in [.conflict, .badData, .permission, .permanent] {
            #expect(name(kind) == "failed")
        }
        #expect(name(.fenced) == nil)
    }

    @Test func anInterruptionExplainsAStatementThatWasCancelled() {
        #expect(name(.cancelled, .cancelled) == "cancelled")
        #expect(name(.cancelled, .handedBack) == "handed back")
        #expect(name(.connectionLost, .lost) == nil)
        #expect(name(.badData, .cancelled) == "failed")
        #expect(Outcome(JobInterruption.handedBack, interruption: nil).name == "handed back")
        #expect(Outcome(JobFailure("m"), interruption: .cancelled).name == "failed")
        #expect(Outcome(CancellationError(), interruption: nil).name == "retry")
    }

    @Test func whatIsStoredHasNoNULAndIsNotTooLong() {
        let text = String(repeating: "\0x", count: 10_000)
        let outcome = Outcome(JobFailure(text, detail: "", position: "\0"), interruption: nil)
        #expect(outcome.failure?.message.count == 8000)
        #expect(outcome.failure?.message.contains("\0") == false)
        #expect(outcome.failure?.detail == nil)
        #expect(outcome.failure?.position == "\u{FFFD}")
        #expect(Outcome.completed(nil).failure == nil)
    }
}
