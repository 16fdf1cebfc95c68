import Bulkhead
import BulkheadTesting
import Postgres
import Testing

@Suite struct StopTests {
    /// Says `t` when a daemon has left nothing behind.
    static let isTidy: SQL = """
        select not exists (select from bulkhead.daemon)
            and not exists (select from bulkhead.job where state = 'running')
            and not exists (select from bulkhead.job_error)
        """

    @Test func aJobEndsItsBatchAndIsHandedBackUncounted() async throws {
        try await TestDatabase.with { database in
            try await database.run(Effects.setUp + "; select bulkhead.enqueue('effects')")
            let gate = try await database.session()
            try await gate.run("select pg_advisory_lock(77)")
            let handler = Effects.handler(50) { batch, number in
                if number == 2 {
                    try batch.connection.run(
                        script: "set local lock_timeout = 0; select pg_advisory_xact_lock(77)"
                    )
                }
            }
            let daemon = try await TestDaemon.start(database, [handler])
            try await gate.waitUntil(Effects.isAtGate)
            daemon.beginStop()
            try await gate.run("select pg_advisory_unlock(77)")
            try await daemon.wait()
            try await database.expect(Self.isTidy, "t")
            // The request may take a moment to arrive, and a batch or two may go by.
            #expect(
                try await database.rows(
                    "select state, batches between 3 and 49, attempt from bulkhead.job"
                ) == [["available", "t", "0"]]
            )
            // Another one goes on from there.
            let next = try await TestDaemon.start(database, [Effects.handler(50)]) {
                $0.drains = true
            }
            try await next.wait()
            try await database.expect(Effects.areExactlyOnce(50), "t")
        }
    }

    @Test(.timeLimit(.minutes(15))) func whatOutlivesTheGraceIsCancelled() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('sleep')")
            let daemon = try await TestDaemon.start(database, [CancelTests.sleeper]) {
                $0.grace = .milliseconds(200)
            }
            try await database.waitUntil(CancelTests.isAsleep)
            try await daemon.stop()
            try await database.expect(Self.isTidy, "t")
            try await database.expect("select state || attempt from bulkhead.job", "available0")
        }
    }

    @Test func theRestOfABunchIsHandedBack() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('small') from generate_series(1, 50)")
            let (reached, goOn) = (TestSignal(), TestSignal())
            let handler = TestHandler("small", isSmall: true) { context in
                guard context.job.id == 10 else { return }
                reached.send()
                try await goOn.next()
            }
            let daemon = try await TestDaemon.start(database, [handler]) { $0.workers = 1 }
            try await reached.next()
            daemon.beginStop()
            goOn.send()
            try await daemon.wait()
            try await database.expect(Self.isTidy, "t")
            try await database.expect(
                """
                select bool_and(attempt = case state when 'completed' then 1 else 0 end)
                    and count(*) filter (where state = 'completed') >= 10
                    and count(*) filter (where state in ('completed', 'available')) = 50
                from bulkhead.job
                """,
                "t"
            )
        }
    }

    @Test(.timeLimit(.minutes(15))) func stoppingAtOnceStopsAlsoWhatWasJustClaimed() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                Effects.setUp + "; select bulkhead.enqueue('effects') from generate_series(1, 3)"
            )
            for _ in 0..<10 {
                let daemon = try await TestDaemon.start(database, [Effects.handler(1_000_000)]) {
                    $0.grace = .seconds(20)
                }
                try await daemon.stop()
                try await database.expect(Self.isTidy, "t")
            }
            try await database.expect("select max(attempt) from bulkhead.job", "0")
        }
    }

    @Test(.timeLimit(.minutes(15))) func aDaemonStopsAlsoWhileTheServerIsAway() async throws {
        try await TestDatabase.with { database in
            let proxy = try TestProxy(to: database)
            defer { proxy.close() }
            try await database.run("select bulkhead.enqueue('k')")
            let (reached, goOn) = (TestSignal(), TestSignal())
            let handler = TestHandler("k") { _ in
                reached.send()
                try await goOn.next()
            }
            let daemon = try await TestDaemon.start(database.at(proxy.url(database)), [handler])
            try await reached.next()
            proxy.refuse()
            proxy.cut()
            daemon.beginStop()
            goOn.send()
            try await daemon.wait()
        }
    }

    @Test func drainingWaitsForWhatIsDueSoonAndForNothingElse() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                select bulkhead.enqueue('k', run_in => '1.5 s'), bulkhead.enqueue('k', run_in => '1 hour'),
                    bulkhead.enqueue('unknown'), bulkhead.enqueue('k', queue => 'other'),
                    bulkhead.enqueue('k', host => 'elsewhere')
                """
            )
            let daemon = try await TestDaemon.start(database, [TestHandler("k") { _ in }]) {
                $0.drains = true
            }
            try await daemon.wait()
            #expect(
                try await database.rows("select state from bulkhead.job order by id") == [
                    ["completed"], ["scheduled"], ["available"], ["available"], ["available"],
                ]
            )
        }
    }

    @Test func drainingAnEmptyQueueEndsAtOnceEvenWithNoWorkers() async throws {
        try await TestDatabase.with { database in
            let daemon = try await TestDaemon.start(database, [TestHandler("k") { _ in }]) {
                $0.drains = true
                $0.workers = 0
            }
            try await daemon.wait()
            try await database.expect(Self.isTidy, "t")
        }
    }
}
