import Bulkhead
import BulkheadTesting
import Postgres
import Testing

@Suite struct OutsideTransactionTests {
    @Test func whatRefusesATransactionRunsOnTheSessionOfTheBatches() async throws {
        try await TestDatabase.with { database in
            try await database.run("create table a (n int); select bulkhead.enqueue('outside')")
            let sessions = TestSignal(of: [Int].self)
            let handler = TestHandler("outside") { context in
                let outside = try await context.outsideTransaction { connection in
                    try connection.query("create index concurrently on a (n)")
                    return try connection.query("select pg_backend_pid()").required(
                        0,
                        0,
                        as: Int.self
                    )
                }
                var inside = 0
                try await context.batch { batch in
                    inside = try batch.connection.query("select pg_backend_pid()").required(0, 0)
                    return context.progress
                }
                sessions.send([outside, inside])
            }
            let daemon = try await TestDaemon.start(database, [handler]) { $0.drains = true }
            try await daemon.wait()
            let pids = try await sessions.next()
            #expect(pids[0] == pids[1])
            try await database.expect("select state from bulkhead.job", "completed")
        }
    }

    /// Whoever takes the job over ends the session that is still at work, however long its statement takes.
    @Test func itEndsWhenTheJobIsTaken() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('outside')")
            let tries = TestSignal(of: Int32.self)
            let handler = TestHandler("outside") { context in
                try await context.outsideTransaction { connection in
                    tries.send(context.job.attempt)
                    if context.job.attempt == 1 { try connection.query("select pg_sleep(600)") }
                }
            }
            let daemon = try await TestDaemon.start(database, [handler]) { $0.workers = 1 }
            let asleep: SQL = """
                exists (select from pg_stat_activity where datname = current_database()
                    and query = 'select pg_sleep(600)' and state = 'active')
                """
            try await database.waitUntil("select \(asleep)")
            try await database.run(
                "select bulkhead.end_leases(array(select id from bulkhead.daemon))"
            )
            try await database.expect("select state from bulkhead.rescue(0)", "available")
            try await database.expect("select not \(asleep)", "t")
            try await database.waitUntil(
                "select state = 'completed' and attempt = 2 from bulkhead.job"
            )
            #expect(try await tries.next() == 1)
            #expect(try await tries.next() == 2)
            try await daemon.stop()
        }
    }

    /// The connection is cut and the server process goes on: the next try of the same attempt ends it.
    @Test func aServerProcessThatWasLeftBehindIsEnded() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('outside')")
            let proxy = try TestProxy(to: database)
            defer { proxy.close() }
            let address = try DatabaseAddress(proxy.url(database))
            let tries = Tries()
            let handler = TestHandler("outside") { context in
                try await context.outsideTransaction { connection in
                    if tries.next() == 1 { try connection.query("select pg_sleep(600)") }
                }
            }
            let daemon = try await TestDaemon.start(database, [handler]) {
                $0.address = address
                $0.drains = true
            }
            let asleep: SQL = """
                exists (select from pg_stat_activity where datname = current_database()
                    and query = 'select pg_sleep(600)' and state = 'active')
                """
            try await database.waitUntil("select \(asleep)")
            proxy.cut()
            try await daemon.wait()
            try await database.expect("select not \(asleep)", "t")
            try await database.expect(
                "select attempt || ' ' || state from bulkhead.job",
                "1 completed"
            )
        }
    }

    @Test func settingsOfOthersEndWithTheirPiece() async throws {
        try await TestDatabase.with { database in
            let session = try await database.session()
            try await session.run(
                "set search_path = pg_temp; set lock_timeout = 7; set \"DateStyle\" = 'German'"
            )
            try await session.use { try $0.restoreSettings() }
            #expect(
                try await session.rows(
                    "select current_setting('lock_timeout'), current_setting('DateStyle'), current_setting('search_path') <> 'pg_temp'"
                ) == [["0", "ISO, YMD", "t"]]
            )
        }
    }
}

/// Counts the tries of a closure that may run again.
private final class Tries: Sendable {
    private let count = Lock(0)

    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}
