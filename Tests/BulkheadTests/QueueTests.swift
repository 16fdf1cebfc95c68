import Bulkhead
import BulkheadTesting
import Postgres
import Testing

@Suite struct QueueTests {
    @Test func aPausedQueueStartsNothingAndWhatRunsGoesOn() async throws {
        try await TestDatabase.with { database in
            let (started, goOn) = (TestSignal(of: Int64.self), TestSignal(of: Int.self))
            let handler = TestHandler("k") { context in
                started.send(context.job.id)
                try await goOn.next()
            }
            let daemon = try await TestDaemon.start(database, [handler]) {
                $0.poll = .seconds(600)
                $0.queues = [.init(name: "a"), .init(name: "b")]
            }
            try await database.run("select bulkhead.enqueue('k', queue => 'a')")
            #expect(try await started.next() == 1)
            try await database.run(
                """
                select bulkhead.pause_queue('a');
                select bulkhead.enqueue('k', queue => 'a');
                select bulkhead.enqueue('k', queue => 'a', run_in => '10 ms');
                select bulkhead.enqueue('k', queue => 'b')
                """
            )
            // The other queue is not touched by it.
            #expect(try await started.next() == 4)
            for n in 1...2 { goOn.send(n) }
            try await database.waitUntil(
                "select count(*) = 2 from bulkhead.job where state = 'completed'"
            )
            // The one that is due is ready as well, and waits like the other.
            try await database.waitUntil(
                "select count(*) = 2 from bulkhead.job where state = 'available'"
            )
            // It rings: the daemon does not poll.
            try await database.run("select bulkhead.resume_queue('a')")
            #expect(Set([try await started.next(), try await started.next()]) == [2, 3])
            for n in 3...4 { goOn.send(n) }
            try await database.waitUntil("select bool_and(state = 'completed') from bulkhead.job")
            try await daemon.stop()
        }
    }

    @Test func aDrainEndsThoughAPausedQueueHasJobs() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                select bulkhead.enqueue('k'), bulkhead.enqueue('k', queue => 'shut'),
                    bulkhead.enqueue('k', queue => 'shut', run_in => '1 s');
                select bulkhead.pause_queue('shut')
                """
            )
            let daemon = try await TestDaemon.start(database, [TestHandler("k") { _ in }]) {
                $0.drains = true
                $0.queues = [.init(name: "default"), .init(name: "shut")]
            }
            try await daemon.wait()
            try await database.expect(
                "select string_agg(queue, ' ') from bulkhead.job where state = 'completed'",
                "default"
            )
        }
    }

    @Test(arguments: [false, true])
    func theLimitHoldsOverTwoDaemons(_ isSmall: Bool) async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                create table seen (n int);
                select bulkhead.limit_queue('default', 3);
                select bulkhead.enqueue('k') from generate_series(1, 60)
                """
            )
            let handler = TestHandler("k", isSmall: isSmall) { context in
                try await context.batch { batch in
                    try batch.connection.query(
                        "insert into seen select count(*) from bulkhead.job where state = 'running'"
                    )
                    return context.progress
                }
            }
            var daemons: [TestDaemon] = []
            for _ in 1...2 {
                daemons.append(
                    try await TestDaemon.start(database, [handler]) {
                        $0.drains = true
                        $0.workers = 4
                    }
                )
            }
            for daemon in daemons { try await daemon.wait() }
            try await database.expect("select max(n) <= 3 and count(*) = 60 from seen", "t")
        }
    }

    @Test func claimsAtTheSameMomentNeverExceedTheLimit() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                select bulkhead.limit_queue('default', 5);
                select bulkhead.enqueue('k') from generate_series(1, 100)
                """
            )
            let claimed = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        let claimant = try await Claimant(database)
                        let small = number.isMultiple(of: 2) ? ["k"] : []
                        var count = 0
                        for _ in 1...5 { count += try await claimant.claim(small: small).count }
                        return count
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(claimed == 5)
            try await database.expect(
                "select count(*) from bulkhead.job where state = 'running'",
                "5"
            )
        }
    }

    @Test func anotherDaemonHearsOfAPlaceThatBecameFree() async throws {
        try await TestDatabase.with { database in
            let (seen, goOn) = (TestSignal(of: String.self), TestSignal())
            try await database.run(
                """
                select bulkhead.limit_queue('default', 1);
                select bulkhead.enqueue('first')
                """
            )
            let first = try await TestDaemon.start(
                database,
                [
                    TestHandler("first") { _ in
                        seen.send("first")
                        try await goOn.next()
                    }
                ]
            ) { $0.poll = .seconds(600) }
            #expect(try await seen.next() == "first")
            let second = try await TestDaemon.start(
                database,
                [TestHandler("second") { _ in seen.send("second") }]
            ) { $0.poll = .seconds(600) }
            try await database.run("select bulkhead.enqueue('second')")
            goOn.send()
            #expect(try await seen.next() == "second")
            try await first.stop()
            try await second.stop()
        }
    }

    @Test func anOpenTransactionWithALimitHoldsUpNoClaim() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                "select bulkhead.limit_queue('default', 9); select bulkhead.enqueue('k')"
            )
            let psql = try await database.session()
            try await psql.run(
                "begin; select bulkhead.limit_queue('default', 1), bulkhead.pause_queue('default')"
            )
            let claimant = try await Claimant(database)
            try await claimant.session.run("set lock_timeout = '2 s'")
            #expect(try await claimant.claim() == [1])
            try await psql.run("commit")
        }
    }

    @Test func aLimitIsLiftedAndBadOnesAreRefused() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.limit_queue('q', 2)")
            try await database.expect("select max_running from bulkhead.queue", "2")
            try await database.run("select bulkhead.limit_queue('q', null)")
            try await database.expect("select max_running from bulkhead.queue", nil)
            let session = try await database.session()
            for call in ["limit_queue('q', 0)", "pause_queue('')", "resume_queue(null)"] {
                let error = await #expect(throws: PostgresError.self) {
                    try await session.run("select bulkhead.\(call)")
                }
                #expect(error?.state?.rawValue == "22023", "\(call)")
            }
        }
    }

    @Test func queuesAreShownWithTheirJobsAndDaemons() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                select bulkhead.enqueue('k') from generate_series(1, 3);
                select bulkhead.enqueue('k', run_in => '1 hour');
                select bulkhead.enqueue('k', queue => 'other');
                select bulkhead.pause(5);
                insert into bulkhead.job (kind, queue, state, finished_at) values ('k', 'past', 'completed', now());
                insert into bulkhead.job (kind, state) values ('k', 'retryable'), ('k', 'blocked');
                select bulkhead.limit_queue('shut', 4), bulkhead.pause_queue('shut')
                """
            )
            let claimants = (
                try await Claimant(database), try await Claimant(database, lease: "-1 s")
            )
            _ = try await claimants.0.claim()
            #expect(
                try await database.rows(
                    """
                    select name, paused, max_running, available, running, scheduled, retryable,
                        paused_jobs, blocked, daemons, waiting_since is not null, "by"
                    from bulkhead.queue_status order by name
                    """
                ) == [
                    ["default", "f", nil, "3", "1", "1", "0", "0", "1", "1", "t", nil],
                    ["other", "f", nil, "0", "0", "0", "0", "1", "0", "0", "f", nil],
                    ["shut", "t", "4", "0", "0", "0", "0", "0", "0", "0", "f", "postgres"],
                ]
            )
        }
    }
}
