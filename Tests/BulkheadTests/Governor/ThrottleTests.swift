import Bulkhead
import BulkheadTesting
import Foundation
import Postgres
import Testing

@Suite struct ThrottleTests {
    /// Works off batches until it has done three, and says when it starts each.
    private static func batches(_ began: TestSignal<Int64>) -> TestHandler {
        TestHandler("k") { context in
            while context.batches < 3 {
                try await context.batch { batch in
                    try batch.connection.query(
                        """
                        insert into took select clock_timestamp(), clock_timestamp() + interval '100 ms'
                        from pg_sleep(0.1)
                        """
                    )
                    began.send(context.batches)
                    return Progress(rowsDone: context.batches + 1)
                }
            }
        }
    }

    private static let table = "create table took (since timestamptz, until timestamptz);"

    /// A limit that no server can keep: a transaction of the test's own is older.
    private static let held = #"'{"snapshot_age": "0 s"}'"#

    /// Runs a test with a job that is held back by an open transaction before its first batch.
    private func withHeldJob(
        enqueue: String = "select bulkhead.enqueue('k', limits => \(held))",
        handlers: [any JobHandler]? = nil,
        _ body: (TestDatabase, TestDaemon, TestSession, TestSignal<Int64>) async throws -> Void
    ) async throws {
        try await TestDatabase.with { database in
            try await database.run("\(Self.table) \(enqueue)")
            let psql = try await database.session()
            try await psql.run("begin isolation level repeatable read; select 1")
            let began = TestSignal(of: Int64.self)
            let daemon = try await TestDaemon.start(
                database,
                handlers ?? [Self.batches(began)]
            )
            try await database.waitUntil(
                "select coalesce(max(waiting), '') like 'snapshot age % s > 0 s (pid %)' from bulkhead.job"
            )
            try await body(database, daemon, psql, began)
        }
    }

    @Test func itWaitsBeforeABatchAndGoesOnWhenItMay() async throws {
        try await withHeldJob { database, daemon, psql, began in
            try await database.expect("select state || batches from bulkhead.job", "running0")
            // It holds nothing meanwhile.
            try await database.expect(
                """
                select count(*) from pg_stat_activity
                where datname = current_database() and application_name like 'bulkhead worker%'
                    and (state <> 'idle' or backend_xmin is not null)
                """,
                "0"
            )
            try await psql.run("commit")
            for batch in 0...2 { #expect(try await began.next() == batch) }
            try await database.waitUntil("select state = 'completed' from bulkhead.job")
            try await database.expect("select waiting from bulkhead.job", nil)
            try await daemon.stop()
        }
    }

    @Test func aLimitIsChangedWhileTheJobWaits() async throws {
        try await withHeldJob { database, daemon, _, began in
            try await database.run("select bulkhead.limit_job(1, '{\"snapshot_age\": null}')")
            #expect(try await began.next() == 0)
            try await database.waitUntil("select state = 'completed' from bulkhead.job")
            try await daemon.stop()
        }
    }

    @Test func theLimitOfTheQueueIsHeededAndChanged() async throws {
        let enqueue =
            "select bulkhead.limit_queue_jobs('default', \(Self.held)), bulkhead.enqueue('k')"
        try await withHeldJob(enqueue: enqueue) { database, daemon, _, began in
            try await database.run(
                "select bulkhead.limit_queue_jobs('default', '{\"snapshot_age\": \"1 day\"}')"
            )
            #expect(try await began.next() == 0)
            try await database.waitUntil("select state = 'completed' from bulkhead.job")
            try await daemon.stop()
        }
    }

    @Test func aCancelEndsTheWait() async throws {
        try await withHeldJob { database, daemon, _, _ in
            try await database.run("select bulkhead.cancel(1)")
            try await database.waitUntil(
                "select state = 'cancelled' and waiting is null and batches = 0 from bulkhead.job"
            )
            try await daemon.stop()
        }
    }

    @Test func aPauseEndsTheWait() async throws {
        try await withHeldJob { database, daemon, _, _ in
            try await database.run("select bulkhead.pause(1)")
            try await database.waitUntil(
                "select state = 'paused' and waiting is null and attempt = 0 from bulkhead.job"
            )
            try await daemon.stop()
        }
    }

    @Test func aStopEndsTheWait() async throws {
        try await withHeldJob { database, daemon, _, _ in
            try await daemon.stop()
            try await database.expect(
                "select state || coalesce(waiting, '') || attempt from bulkhead.job",
                "available0"
            )
        }
    }

    @Test func aJobInOneTransactionWaitsBeforeIt() async throws {
        let began = TestSignal()
        let whole = TestHandler("k") { context in
            try await context.transaction { _ in
                began.send()
                return Progress(rowsDone: 1)
            }
        }
        try await withHeldJob(handlers: [whole]) { database, daemon, psql, _ in
            try await psql.run("commit")
            try await began.next()
            try await database.waitUntil("select state = 'completed' from bulkhead.job")
            try await daemon.stop()
        }
    }

    @Test func theDaemonsOwnLimitsCountForAllJobs() async throws {
        try await TestDatabase.with { database in
            try await database.run("\(Self.table) select bulkhead.enqueue('k')")
            let psql = try await database.session()
            try await psql.run("begin isolation level repeatable read; select 1")
            let daemon = try await TestDaemon.start(database, [Self.batches(TestSignal())]) {
                $0.limits = JSONText(#"{"snapshot_age": "0 s"}"#)
            }
            try await database.waitUntil("select waiting like 'snapshot age %' from bulkhead.job")
            try await psql.run("commit")
            try await database.waitUntil("select state = 'completed' from bulkhead.job")
            try await daemon.stop()
            await #expect(throws: PostgresError.self) {
                try await TestDaemon.start(database, []) { $0.limits = JSONText(#"{"x": 1}"#) }
            }
        }
    }

    @Test func aNiceJobRestsBetweenItsBatches() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                "\(Self.table) select bulkhead.enqueue('k', limits => '{\"nice\": 4}')"
            )
            let daemon = try await TestDaemon.start(database, [Self.batches(TestSignal())]) {
                $0.drains = true
            }
            try await daemon.wait()
            try await database.expect(
                """
                select count(*) = 3 and min(rest) >= '400 ms'
                from (select since - lag(until - interval '100 ms') over (order by since) as rest from took) t
                """,
                "t"
            )
        }
    }

    @Test func aRestEndsWithACancelAndWithItsLimit() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                \(Self.table)
                select bulkhead.enqueue('k', limits => '{"nice": 1000}') from generate_series(1, 2)
                """
            )
            let began = TestSignal(of: Int64.self)
            let daemon = try await TestDaemon.start(database, [Self.batches(began)])
            for _ in 1...2 { try await began.next() }
            try await database.waitUntil("select bool_and(batches = 1) from bulkhead.job")
            try await database.run(
                "select bulkhead.cancel(1), bulkhead.limit_job(2, '{\"nice\": null}')"
            )
            try await database.waitUntil(
                "select string_agg(state, ' ' order by id) = 'cancelled completed' from bulkhead.job"
            )
            try await daemon.stop()
        }
    }

    @Test func aHandlersOwnWordIsShownUntilItsNextBatch() async throws {
        try await TestDatabase.with { database in
            let (said, goOn) = (TestSignal(), TestSignal(of: Int.self))
            let handler = TestHandler("k") { context in
                context.waits(for: "the migration of public.t")
                said.send()
                try await goOn.next()
                try await context.batch { _ in Progress(rowsDone: 1) }
                said.send()
                try await goOn.next()
            }
            try await database.run("select bulkhead.enqueue('k')")
            let daemon = try await TestDaemon.start(database, [handler])
            try await said.next()
            try await database.expect(
                "select waiting from bulkhead.job_status",
                "the migration of public.t"
            )
            goOn.send(1)
            try await said.next()
            try await database.expect("select waiting from bulkhead.job", nil)
            goOn.send(2)
            try await daemon.stop()
        }
    }

    @Test func aRescueClearsIt() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k')")
            let claimant = try await Claimant(database)
            _ = try await claimant.claim()
            _ = try await claimant.session.rows(
                "select bulkhead.show_waiting(1, 1, \(claimant.id), 'replica lag')"
            )
            try await database.expect("select waiting from bulkhead.job", "replica lag")
            try await database.run("delete from bulkhead.daemon")
            try await database.expect("select state from bulkhead.rescue(0)", "available")
            try await database.expect("select waiting from bulkhead.job", nil)
            await #expect(throws: PostgresError.self) {
                _ = try await claimant.session.rows(
                    "select bulkhead.show_waiting(1, 1, \(claimant.id), 'x')"
                )
            }
        }
    }

    @Test(arguments: [
        ("lock table t in share mode", "t"), ("update t set n = 0", "t"),
        ("select pg_advisory_xact_lock(7)", "a row"),
    ])
    func whoHoldsALockThatABatchWaitsForIsTold(statement: String, lock: String) async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                create schema "odd one"; create table "odd one".t (n int); insert into "odd one".t values (1);
                select bulkhead.enqueue('k')
                """
            )
            let psql = try await database.session()
            try await psql.run("set search_path = 'odd one'; begin; \(statement)")
            let pid = try await psql.value("select pg_backend_pid()") ?? ""
            let handler = TestHandler("k") { context in
                try await context.batch { batch in
                    try batch.connection.query(
                        "update \"odd one\".t set n = n + 1 where pg_advisory_xact_lock(7) is not null"
                    )
                    return Progress(rowsDone: 1)
                }
            }
            let log = try TestLog()
            let daemon = try await TestDaemon.start(database, [handler], log: log.logger)
            let place = lock == "t" ? "\"odd one\".t" : lock
            try await database.waitUntil(
                """
                select coalesce(waiting, '') like
                    'a lock on ' || \(place) || ' held by pid ' || \(pid) || ' (postgres, bulkhead test, since % s)'
                from bulkhead.job
                """
            )
            try await log.waitUntil { $0.contains { $0.contains("warning job waits") } }
            try await psql.run("commit")
            try await database.waitUntil(
                "select state = 'completed' and waiting is null from bulkhead.job"
            )
            try await daemon.stop()
        }
    }

    @Test func aTryThatMetOthersMakesTheNextBatchesSmaller() async throws {
        try await TestDatabase.with { database in
            let sizes = TestSignal(of: Int.self)
            let handler = TestHandler("k") { context in
                var sizer = BatchSizer(first: 1000)
                var tries = 0
                let took = try await context.batch(onFailure: { sizer.failed($0) }) { _ in
                    tries += 1
                    if tries < 3 {
                        throw PostgresError(state: SQLState(rawValue: "55P03"), message: "locked")
                    }
                    return Progress(rowsDone: 1)
                }
                #expect(took > .zero)
                sizes.send(sizer.rows)
            }
            try await database.run("select bulkhead.enqueue('k')")
            let daemon = try await TestDaemon.start(database, [handler]) { $0.drains = true }
            #expect(try await sizes.next() == 250)
            try await daemon.wait()
        }
    }
}
