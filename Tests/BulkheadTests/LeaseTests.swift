import Bulkhead
import BulkheadTesting
import Postgres
import Testing

@Suite struct LeaseTests {
    /// A job that holds its batch open until the test lets it go on.
    private func withGatedJob(
        _ body: (TestDatabase, _ gate: TestSession, TestDaemon) async throws -> Void
    ) async throws {
        try await TestDatabase.with { database in
            try await database.run(Effects.setUp + "; select bulkhead.enqueue('effects')")
            let gate = try await database.session()
            try await gate.run("select pg_advisory_lock(77)")
            let handler = Effects.handler(3) { batch, number in
                if number == 1 {
                    try batch.connection.run(
                        script: "set local lock_timeout = 0; select pg_advisory_xact_lock(77)"
                    )
                }
            }
            let daemon = try await TestDaemon.start(database, [handler]) {
                $0.lease = .milliseconds(900)
            }
            try await gate.waitUntil(Effects.isAtGate)
            try await body(database, gate, daemon)
            try await daemon.stop()
        }
    }

    @Test func aLostLeaseStopsTheJobAndTheDaemonGoesOnUnderAFreshID() async throws {
        try await withGatedJob { database, gate, _ in
            let former = try await database.value("select id from bulkhead.daemon")
            // What another daemon's rescue does.
            try await database.run(
                """
                begin;
                delete from bulkhead.daemon;
                update bulkhead.job set state = 'available', daemon = null;
                commit
                """
            )
            // The statement is cancelled; the job comes back under the fresh id as a second attempt.
            try await gate.waitUntil(
                "select attempt = 2 and daemon is distinct from \(former)::uuid from bulkhead.job"
            )
            try await gate.run("select pg_advisory_unlock(77)")
            try await gate.waitUntil(Effects.areExactlyOnce(3))
            try await database.expect("select count(*) from bulkhead.daemon", "1")
        }
    }

    @Test func aWorkerThatWasPausedPastItsLeaseWritesNothing() async throws {
        try await withGatedJob { database, gate, _ in
            let attempts = try await database.session()
            // Taken by someone else altogether: nothing of the first worker may show.
            try await attempts.run(
                """
                begin;
                update bulkhead.job set attempt = 2, daemon = gen_random_uuid();
                commit
                """
            )
            try await gate.run("select pg_advisory_unlock(77)")
            try await gate.waitUntil(
                """
                select not exists (select from pg_locks l
                    where l.locktype = 'advisory' and l.objsubid = 2 and l.classid = bulkhead.lock_class()
                        and l.database = (select oid from pg_database where datname = current_database()))
                """
            )
            // Only the batch before the gate was ever committed.
            try await database.expect(
                "select count(*) from effect where batch > 0 and xmin::text::bigint < 0",
                "0"
            )
            try await gate.waitUntil("select state <> 'running' or attempt > 2 from bulkhead.job")
            try await gate.waitUntil(Effects.areExactlyOnce(3))
        }
    }

    @Test func anExpiredLeaseFencesTheBatch() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                "create table t (n int); select bulkhead.enqueue('k', max_attempts => 1)"
            )
            let handler = TestHandler("k") { context in
                try await context.batch { batch in
                    try batch.connection.query("insert into t values (1)")
                    // Within the transaction: the fence sees it, and it is rolled back with it.
                    try batch.connection.query(
                        "update bulkhead.daemon set lease_expires_at = '-infinity'"
                    )
                    return context.progress
                }
            }
            let daemon = try await TestDaemon.start(database, [handler]) {
                $0.patience = .milliseconds(300)
                $0.lease = .seconds(60)
            }
            try await database.waitUntil("select state <> 'available' from bulkhead.job")
            try await daemon.stop()
            try await database.expect("select count(*) from t", "0")
            try await database.expect("select batches from bulkhead.job", "0")
        }
    }

    @Test func theHeartbeatGoesOnWhileHandlersBurnTheSharedPool() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('burn') from generate_series(1, 4)")
            let (isOver, started) = (Lock(false), TestSignal())
            let handler = TestHandler("burn") { _ in
                started.send()
                // More than the pool has threads, and never suspended.
                await withDiscardingTaskGroup { group in
                    for _ in 0..<4 {
                        group.addTask(executorPreference: globalConcurrentExecutor) {
                            let end = ContinuousClock.now + .seconds(3)
                            while .now < end, !isOver.withLock({ $0 }) {}
                        }
                    }
                }
            }
            let watcher = try await database.session()
            let daemon = try await TestDaemon.start(database, [handler]) {
                $0.workers = 4
                $0.lease = .milliseconds(600)
            }
            try await started.next()
            // The session waits on its own thread, as the heartbeat does; the pool is full.
            let lapses: Int = try await watcher.use { connection in
                // Here, since the test itself waits for a thread of the pool.
                defer { isOver.withLock { $0 = true } }
                var lapses = 0
                let end = ContinuousClock.now + .milliseconds(1500)
                while .now < end {
                    let row = try connection.query(
                        "select count(*) from bulkhead.daemon where lease_expires_at < clock_timestamp()"
                    )
                    lapses += try row.required(0, 0, as: Int.self)
                    try connection.query("select pg_sleep(0.01)")
                }
                return lapses
            }
            #expect(lapses == 0)
            try await daemon.stop()
        }
    }
}
