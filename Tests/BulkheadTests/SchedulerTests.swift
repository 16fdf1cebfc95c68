import Bulkhead
import BulkheadTesting
import Postgres
import Testing

@Suite struct SchedulerTests {
    @Test func aJobThatCommitsLateWithASmallerIDIsFoundSoon() async throws {
        try await TestDatabase.with { database in
            let late = try await database.session()
            try await late.run("begin; select bulkhead.enqueue('k', notify => false)")
            try await database.run("select bulkhead.enqueue('k') from generate_series(1, 400)")
            let handler = TestHandler("k") { context in
                _ = try await context.read { try $0.query("select pg_sleep(0.01)").count }
            }
            let daemon = try await TestDaemon.start(database, [handler]) {
                $0.workers = 1
                $0.poll = .seconds(60)
            }
            try await database.waitUntil(
                "select count(*) > 20 from bulkhead.job where state = 'completed'"
            )
            try await late.run("commit")
            try await database.waitUntil(
                "select state = 'completed' from bulkhead.job order by id limit 1"
            )
            try await database.expect(
                "select count(*) > 0 from bulkhead.job where state = 'available'",
                "t"
            )
            try await daemon.stop()
        }
    }

    @Test func aJobWithASmallerPriorityIsTakenNext() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                "select bulkhead.enqueue('k', priority => 5) from generate_series(1, 50)"
            )
            let (order, goOn) = (TestSignal(of: Int32.self), TestSignal(of: Int.self))
            let handler = TestHandler("k") { context in
                order.send(context.job.priority)
                if context.job.priority == 5 { try await goOn.next() }
            }
            let daemon = try await TestDaemon.start(database, [handler]) { $0.workers = 1 }
            #expect(try await order.next() == 5)
            try await database.run("select bulkhead.enqueue('k', priority => 1)")
            goOn.send(1)
            #expect(try await order.next() == 1)
            for n in 0..<50 { goOn.send(n) }
            try await daemon.stop()
        }
    }

    @Test func aQueueWorksWithinItsLimitAndTheOthersBesideIt() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                create table now_running (queue text, most int);
                select bulkhead.enqueue('k', queue => q) from generate_series(1, 15), unnest('{a,b}'::text[]) q
                """
            )
            let handler = TestHandler("k") { context in
                try await context.batch { batch in
                    try batch.connection.query(
                        """
                        insert into now_running select queue, count(*) from bulkhead.job
                        where state = 'running' group by queue
                        """
                    )
                    return context.progress
                }
            }
            let daemon = try await TestDaemon.start(database, [handler]) {
                $0.workers = 4
                $0.drains = true
                $0.queues = [.init(name: "a", limit: 1), .init(name: "b", limit: 3)]
            }
            try await daemon.wait()
            try await database.expect(
                """
                select max(most) filter (where queue = 'a') <= 1 and max(most) filter (where queue = 'b') <= 3
                from now_running
                """,
                "t"
            )
            try await database.expect(
                "select count(*) from bulkhead.job where state = 'completed'",
                "30"
            )
        }
    }

    /// Jobs that are due but cannot be claimed, each for another reason.
    @Test(arguments: ["locked", "limited", "of unknown kind"])
    func aDueJobThatCannotBeClaimedKeepsNobodyBusy(_ reason: String) async throws {
        try await TestDatabase.with { database in
            let proxy = try TestProxy(to: database)
            defer { proxy.close() }
            let goOn = TestSignal()
            let psql = try await database.session()
            if reason == "limited" { try await database.run("select bulkhead.enqueue('k')") }
            let daemon = try await TestDaemon.start(
                database.at(proxy.url(database)),
                [TestHandler("k") { _ in try await goOn.next() }]
            ) {
                $0.queues = [.init(name: "default", limit: 1)]
                $0.workers = 2
            }
            if reason == "limited" {
                try await database.waitUntil("select state = 'running' from bulkhead.job")
            }
            let kind = reason == "of unknown kind" ? "unknown" : "k"
            try await psql.run(
                """
                begin;
                insert into bulkhead.job (kind, state, run_at) values ('\(kind)', 'scheduled', now() + interval '1 s');
                commit;
                begin;
                select from bulkhead.job where state = 'scheduled' for update;
                """
            )
            if reason != "locked" { try await psql.run("rollback") }
            try await database.run("notify bulkhead_job, 'look'")
            try await psql.run("select pg_sleep(1.5)")
            let before = proxy.requests
            try await psql.run("select pg_sleep(1)")
            #expect(proxy.requests - before < 60)
            goOn.send()
            if reason == "locked" { try await psql.run("rollback") }
            goOn.send()
            try await daemon.stop()
        }
    }

    @Test func aScheduledJobStartsWhenItIsDue() async throws {
        try await TestDatabase.with { database in
            let seen = TestSignal(of: Int64.self)
            let daemon = try await TestDaemon.start(
                database,
                [TestHandler("k") { seen.send($0.job.id) }]
            ) { $0.poll = .seconds(60) }
            try await database.run("select bulkhead.enqueue('k', run_in => '700 ms')")
            #expect(try await seen.next(within: .seconds(20)) == 1)
            try await database.waitUntil("select state = 'completed' from bulkhead.job")
            try await database.expect(
                "select started_at between run_at and run_at + interval '3 s' from bulkhead.job",
                "t"
            )
            try await daemon.stop()
        }
    }

    @Test func aJobOfAnUnknownKindIsNeverTouched() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('unknown'), bulkhead.enqueue('k')")
            let daemon = try await TestDaemon.start(database, [TestHandler("k") { _ in }]) {
                $0.drains = true
            }
            try await daemon.wait()
            #expect(
                try await database.rows("select state, attempt from bulkhead.job order by id") == [
                    ["available", "0"], ["completed", "1"],
                ]
            )
        }
    }
}
