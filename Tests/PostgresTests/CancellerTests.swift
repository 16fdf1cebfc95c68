import BulkheadTesting
import Dispatch
import Testing

@testable import Postgres

@Suite struct CancellerTests {
    private static let settings = SessionSettings(applicationName: "test")

    @Test func aRunningStatementEndsAtOnce() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let canceller = Canceller()
            let statement = Task.detached {
                let connection = try Connection(
                    database.address,
                    settings: Self.settings,
                    canceller: canceller
                )
                let error = #expect(throws: PostgresError.self) {
                    try connection.query("select pg_sleep(600)").count
                }
                #expect(error?.kind == .cancelled)
                let again = #expect(throws: PostgresError.self) {
                    try connection.query("select 1").count
                }
                #expect(again?.kind == .cancelled)
                canceller.reset()
                try connection.expectUsable()
                return ContinuousClock.now
            }
            try await database.waitUntil(
                "select exists (select from pg_stat_activity where query = 'select pg_sleep(600)' and state = 'active')"
            )
            let start = ContinuousClock.now
            canceller.cancel()
            #expect(try await statement.value - start < .seconds(2))
        }
    }

    @Test func aCancelBeforeTheStatementIsKept() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let canceller = Canceller()
            canceller.cancel()
            let early = #expect(throws: PostgresError.self) {
                _ = try Connection(
                    database.address,
                    settings: Self.settings,
                    canceller: canceller
                ).isLost
            }
            #expect(early?.kind == .cancelled)
            canceller.reset()
            let connection = try Connection(
                database.address,
                settings: Self.settings,
                canceller: canceller
            )
            try connection.query("create table t (n int)")
            canceller.cancel()
            for refused in [
                { try connection.query("insert into t values (1)").count },
                { try connection.run(script: "insert into t values (1)").count },
                { try connection.pipeline(["insert into t values (1)"]).count },
                { try connection.copyIn("copy t from stdin") { try $0.write([49, 10]) } },
            ] {
                let error = #expect(throws: PostgresError.self) { _ = try refused() }
                #expect(error?.kind == .cancelled)
            }
            canceller.reset()
            let count: Int? = try connection.query("select count(*) from t").value(0, 0)
            #expect(count == 0)
        }
    }

    @Test func aRollbackRunsAfterACancel() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let canceller = Canceller()
            let connection = try Connection(
                database.address,
                settings: Self.settings,
                canceller: canceller
            )
            let error = #expect(throws: PostgresError.self) {
                try connection.transaction { connection in
                    canceller.cancel()
                    _ = try connection.query("select 1").count
                }
            }
            #expect(error?.kind == .cancelled)
            #expect(!connection.isInTransaction)
        }
    }

    @Test func twoHundredLateCancelsNeverHitALaterStatement() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let canceller = Canceller()
            let connection = try Connection(
                database.address,
                settings: Self.settings,
                canceller: canceller
            )
            for number in 0..<200 {
                let isDone = DispatchSemaphore(value: 0)
                DispatchQueue.global().async {
                    canceller.cancel()
                    isDone.signal()
                }
                // Ended by the cancel, refused because of it, or done before it: all are right.
                do {
                    try connection.query("select pg_sleep(\(Double(number % 5) / 10_000)::float8)")
                } catch let error as PostgresError {
                    #expect(error.kind == .cancelled)
                }
                isDone.wait()
                canceller.reset()
                let answer: Int? = try connection.query("select \(number)::int").value(0, 0)
                #expect(answer == number)
            }
        }
    }

    @Test(.timeLimit(.minutes(15))) func aFormerConnectionThatEndsLateDoesNotTakeTheCancellerAway()
        async throws
    {
        try await TestDatabase.with(hasSchema: false) { database in
            let canceller = Canceller()
            var former: Connection? = try Connection(
                database.address,
                settings: Self.settings,
                canceller: canceller
            )
            let present = try Connection(
                database.address,
                settings: Self.settings,
                canceller: canceller
            )
            #expect(former?.isLost == false)
            former = nil
            DispatchQueue.global().asyncAfter(deadline: .now() + 0.2) { canceller.cancel() }
            #expect(throws: PostgresError.self) { try present.query("select pg_sleep(20)").count }
        }
    }
}
