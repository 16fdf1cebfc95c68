import Bulkhead
import BulkheadTesting
import Postgres
import Testing

@Suite struct PauseTests {
    /// Commits a batch, tells the test, and goes on when the test says so.
    private static func stepper(_ steps: TestSignal<Int64>, _ goOn: TestSignal<Int>) -> TestHandler
    {
        TestHandler("step") { context in
            while context.batches < 3 {
                try await context.batch { _ in Progress(rowsDone: context.progress.rowsDone + 1) }
                steps.send(context.batches)
                try await goOn.next()
            }
        }
    }

    @Test func aWaitingJobIsPausedAtOnceAndNotClaimed() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                select bulkhead.enqueue('k'), bulkhead.enqueue('k', run_in => '1 hour');
                insert into bulkhead.job (kind, state, attempt) values ('k', 'retryable', 2);
                select bulkhead.pause(id) from bulkhead.job
                """
            )
            try await database.expect("select bool_and(state = 'paused') from bulkhead.job", "t")
            let claimant = try await Claimant(database)
            #expect(try await claimant.claim().isEmpty)
            #expect(
                try await database.rows("select bulkhead.resume(id) from bulkhead.job order by id")
                    == [["1"], ["2"], ["3"]]
            )
            #expect(
                try await database.rows("select state, attempt from bulkhead.job order by id") == [
                    ["available", "0"], ["scheduled", "0"], ["available", "2"],
                ]
            )
            #expect(try await claimant.claim() == [1])
        }
    }

    @Test func aRunningJobEndsItsBatchAndGoesOnFromThereWithoutACountedAttempt() async throws {
        try await TestDatabase.with { database in
            let (steps, goOn) = (TestSignal(of: Int64.self), TestSignal(of: Int.self))
            try await database.run("select bulkhead.enqueue('step')")
            let daemon = try await TestDaemon.start(database, [Self.stepper(steps, goOn)])
            #expect(try await steps.next() == 1)
            try await database.run("select bulkhead.pause(1)")
            try await database.expect("select state from bulkhead.job", "running")
            try await database.expect("select pause_requested from bulkhead.job_status", "t")
            // The heartbeat passes it on, and only then is the next batch due.
            try await Self.waitForBeat(database)
            goOn.send(1)
            try await database.waitUntil("select state = 'paused' from bulkhead.job")
            #expect(
                try await database.rows(
                    "select batches, rows_done, attempt, daemon, finished_at from bulkhead.job"
                ) == [["1", "1", "0", nil, nil]]
            )
            try await database.expect("select count(*) from bulkhead.request", "0")
            try await database.run("select bulkhead.resume(1)")
            #expect(try await steps.next() == 2)
            goOn.send(2)
            #expect(try await steps.next() == 3)
            goOn.send(3)
            try await database.waitUntil("select state = 'completed' from bulkhead.job")
            try await database.expect("select attempt || ' ' || rows_done from bulkhead.job", "1 3")
            try await daemon.stop()
        }
    }

    @Test func aRequestToPauseIsWithdrawnByResume() async throws {
        try await TestDatabase.with { database in
            let (steps, goOn) = (TestSignal(of: Int64.self), TestSignal(of: Int.self))
            try await database.run("select bulkhead.enqueue('step')")
            let daemon = try await TestDaemon.start(database, [Self.stepper(steps, goOn)])
            _ = try await steps.next()
            try await database.run("select bulkhead.pause(1)")
            try await Self.waitForBeat(database)
            try await database.run("select bulkhead.resume(1)")
            try await database.expect("select pause_requested from bulkhead.job_status", "f")
            try await Self.waitForBeat(database)
            for n in 1...3 { goOn.send(n) }
            try await database.waitUntil("select state = 'completed' from bulkhead.job")
            // It was never handed back.
            try await database.expect("select attempt from bulkhead.job", "1")
            try await database.expect("select count(*) from bulkhead.request", "0")
            try await daemon.stop()
        }
    }

    @Test func anOpenTransactionWithAPauseHoldsUpNoBatch() async throws {
        try await TestDatabase.with { database in
            let (steps, goOn) = (TestSignal(of: Int64.self), TestSignal(of: Int.self))
            try await database.run("select bulkhead.enqueue('step')")
            let daemon = try await TestDaemon.start(database, [Self.stepper(steps, goOn)])
            _ = try await steps.next()
            let psql = try await database.session()
            try await psql.run(
                "begin; select bulkhead.pause(1), bulkhead.resume(1), bulkhead.pause(1)"
            )
            for n in 1...3 { goOn.send(n) }
            try await database.waitUntil("select state = 'completed' from bulkhead.job")
            try await psql.run("commit")
            try await database.expect("select state from bulkhead.job", "completed")
            try await daemon.stop()
        }
    }

    /// How an attempt ends, and what the job is then.
    @Test(arguments: [
        ("handed back", "paused", "0"), ("retry", "paused", "1"), ("completed", "completed", "1"),
        ("failed", "discarded", "1"),
    ])
    func anEndedAttemptHeedsTheRequest(_ outcome: String, _ state: String, _ attempt: String)
        async throws
    {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k')")
            let claimant = try await Claimant(database)
            _ = try await claimant.claim()
            try await database.run("select bulkhead.pause(1)")
            #expect(try await claimant.finish(1, outcome) == state)
            try await database.expect("select attempt from bulkhead.job", attempt)
            try await database.expect("select count(*) from bulkhead.request", "0")
        }
    }

    @Test func cancelBeatsPauseInWhateverOrder() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k') from generate_series(1, 3)")
            let claimant = try await Claimant(database)
            for _ in 1...3 { _ = try await claimant.claim() }
            try await database.run(
                """
                select bulkhead.pause(1), bulkhead.cancel(1);
                select bulkhead.cancel(2), bulkhead.pause(2);
                select bulkhead.cancel(3), bulkhead.resume(3)
                """
            )
            for job in 1...3 as ClosedRange<Int64> {
                #expect(try await claimant.finish(job, "handed back") == "cancelled")
            }
        }
    }

    @Test func aRescuedJobIsPausedWhenThatWasAsked() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k')")
            let claimant = try await Claimant(database)
            _ = try await claimant.claim()
            try await database.run(
                "select bulkhead.pause(1); update bulkhead.daemon set lease_expires_at = '-infinity'"
            )
            try await database.expect("select state from bulkhead.rescue(0)", "paused")
            try await database.run("select bulkhead.heed_late_requests()")
            try await database.expect("select count(*) from bulkhead.request", "0")
            try await database.expect("select state from bulkhead.job", "paused")
        }
    }

    /// What is asked just as the job is handed back reaches no worker.
    @Test(arguments: [
        ("cancel", "available", "cancelled"), ("pause", "available", "paused"),
        ("pause", "retryable", "paused"), ("resume", "paused", "available"),
        ("resume", "available", "available"), ("cancel", "completed", "completed"),
    ])
    func whatWasAskedTooLateIsDoneSoon(_ what: String, _ state: String, _ becomes: String)
        async throws
    {
        try await TestDatabase.with { database in
            try await database.run(
                """
                insert into bulkhead.job (kind, state, finished_at)
                values ('k', '\(state)', case when '\(state)' = 'completed' then now() end);
                insert into bulkhead.request (job, what) values (1, '\(what)')
                """
            )
            let daemon = try await TestDaemon.start(database, []) { $0.lease = .milliseconds(600) }
            try await database.waitUntil("select count(*) = 0 from bulkhead.request")
            try await database.expect("select state from bulkhead.job", becomes)
            try await daemon.stop()
        }
    }

    @Test func whatCannotBePausedOrResumedIsRefused() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                insert into bulkhead.job (kind, state, finished_at)
                values ('k', 'completed', now()), ('k', 'discarded', now()), ('k', 'blocked', null)
                """
            )
            let session = try await database.session()
            for (call, says, code) in [
                ("pause(1)", "job 1 is already completed", "55000"),
                ("pause(3)", "job 3 waits for other jobs", "55000"),
                ("resume(2)", "job 2 is already discarded", "55000"),
                ("pause(99)", "there is no job 99", "P0002"),
                ("resume(99)", "there is no job 99", "P0002"),
                ("retry(99)", "there is no job 99", "P0002"),
                ("pause(null)", "there is no job", "P0002"),
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await session.run("select bulkhead.\(call)")
                }
                #expect(error?.message.contains(says) == true, "\(call): \(error?.message ?? "")")
                #expect(error?.state?.rawValue == code)
            }
            // The wish is met already.
            try await database.run(
                "select bulkhead.enqueue('k'), bulkhead.pause(4), bulkhead.pause(4), bulkhead.resume(4), bulkhead.resume(4)"
            )
            try await database.expect("select state from bulkhead.job where id = 4", "available")
        }
    }

    @Test func resumeRingsForTheJob() async throws {
        try await TestDatabase.with { database in
            let seen = TestSignal(of: Int64.self)
            try await database.run("select bulkhead.enqueue('k'); select bulkhead.pause(1)")
            let daemon = try await TestDaemon.start(
                database,
                [TestHandler("k") { seen.send($0.job.id) }]
            ) { $0.poll = .seconds(600) }
            try await database.run("select bulkhead.resume(1)")
            #expect(try await seen.next() == 1)
            try await daemon.stop()
        }
    }

    /// Waits until the daemon has beaten twice: the second one began after this was called.
    private static func waitForBeat(_ database: TestDatabase) async throws {
        for _ in 1...2 {
            let lease = try await database.value("select lease_expires_at from bulkhead.daemon")
            try await database.run("select pg_notify('bulkhead_control', 'request')")
            try await database.waitUntil(
                "select lease_expires_at <> \(lease)::timestamptz from bulkhead.daemon"
            )
        }
    }
}
