import Bulkhead
import BulkheadTesting
import Postgres
import Testing

@Suite struct BatchTests {
    @Test func batchesCommitRowsCheckpointChangeAndRingTogether() async throws {
        try await TestDatabase.with { database in
            try await database.run(Effects.setUp)
            let listener = try await database.session()
            try await listener.use { try $0.listen("bulkhead_change") }
            try await database.run("select bulkhead.enqueue('effects')")
            let daemon = try await TestDaemon.start(database, [Effects.handler(5)]) {
                $0.drains = true
            }
            try await daemon.wait()
            try await database.expect(Effects.areExactlyOnce(5), "t")
            try await database.expect("select checkpoint ->> 'next' from bulkhead.job", "5")
            var rings = 0
            while rings < 5 { rings += try await listener.notifications().count }
            #expect(rings == 5)
            try await database.expect(
                "select count(*) from bulkhead.change c join effect e on c.xid::xid = e.xmin",
                "5"
            )
        }
    }

    @Test func aBatchThatFailsForGoodLeavesNothingOfItself() async throws {
        try await TestDatabase.with { database in
            try await database.run(Effects.setUp + "; select bulkhead.enqueue('effects')")
            let handler = Effects.handler(5) { _, number in
                if number == 2 { throw JobFailure("no more", position: "batch 2") }
            }
            let daemon = try await TestDaemon.start(database, [handler]) { $0.drains = true }
            try await daemon.wait()
            #expect(
                try await database.rows(
                    """
                    select state, batches, rows_done, last_error, (select count(*) from effect),
                        (select count(*) from bulkhead.change), (select position from bulkhead.job_error)
                    from bulkhead.job_status
                    """
                ) == [["discarded", "2", "2", "no more", "2", "2", "batch 2"]]
            )
        }
    }

    /// Failures that may pass at another try, each raised in the first run of the second batch.
    @Test(arguments: ["40001", "40P01", "55P03", "53200", "08006", "57014", "55006"])
    func aFailureThatMayPassRunsTheBodyAgain(_ code: String) async throws {
        try await TestDatabase.with { database in
            try await database.run(
                Effects.setUp + "; create sequence tries; select bulkhead.enqueue('effects')"
            )
            let handler = Effects.handler(3) { batch, number in
                guard number == 1 else { return }
                // A sequence is not rolled back.
                let tries: Int = try batch.connection.query("select nextval('tries')").required(
                    0,
                    0
                )
                guard tries < 4 else { return }
                try batch.connection.run(
                    script: "do $$ begin raise exception 'again' using errcode = '\(code)'; end $$"
                )
            }
            let daemon = try await TestDaemon.start(database, [handler]) { $0.drains = true }
            try await daemon.wait()
            try await database.expect(Effects.areExactlyOnce(3), "t")
            try await database.expect("select last_value from tries", "4")
            // In place: it is no attempt of its own.
            try await database.expect("select attempt from bulkhead.job", "1")
        }
    }

    @Test func aRealDeadlockIsGoneThrough() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                create table pair (n int primary key, v int default 0); insert into pair values (1), (2);
                select bulkhead.enqueue('pair', '{"first": 1, "second": 2}'),
                    bulkhead.enqueue('pair', '{"first": 2, "second": 1}')
                """
            )
            struct Args: Decodable { let first, second: Int }
            let handler = TestHandler("pair") { context in
                let args: Args = try context.job.args.decode()
                for _ in 0..<20 {
                    try await context.batch { batch in
                        for n in [args.first, args.second] {
                            try batch.connection.query("update pair set v = v + 1 where n = \(n)")
                        }
                        return context.progress
                    }
                }
            }
            let daemon = try await TestDaemon.start(database, [handler]) { $0.drains = true }
            try await daemon.wait()
            #expect(try await database.rows("select v from pair") == [["40"], ["40"]])
        }
    }

    @Test func patienceEndsAndTheAttemptWithIt() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k', max_attempts => 2)")
            let handler = TestHandler("k") { context in
                try await context.batch { batch in
                    try batch.connection.run(
                        script: "do $$ begin raise exception 'busy' using errcode = '55P03'; end $$"
                    )
                    return context.progress
                }
            }
            let daemon = try await TestDaemon.start(database, [handler]) {
                $0.patience = .milliseconds(100)
                $0.drains = true
            }
            try await daemon.wait()
            #expect(
                try await database.rows(
                    "select state, attempt, last_error from bulkhead.job_status"
                )
                    == [["discarded", "2", "busy"]]
            )
            try await database.expect(
                "select string_agg(sqlstate, ' ') from bulkhead.job_error",
                "55P03 55P03"
            )
        }
    }

    @Test func aDeferredConstraintFailsTheBatchBeforeItsFence() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                create table t (n int unique deferrable initially deferred);
                select bulkhead.enqueue('k')
                """
            )
            let handler = TestHandler("k") { context in
                try await context.batch { batch in
                    try batch.connection.query("insert into t values (1), (1)")
                    return context.progress
                }
            }
            let daemon = try await TestDaemon.start(database, [handler]) { $0.drains = true }
            try await daemon.wait()
            #expect(
                try await database.rows(
                    "select j.state, j.batches, e.sqlstate from bulkhead.job j join bulkhead.job_error e on e.job = j.id"
                ) == [["discarded", "0", "23505"]]
            )
        }
    }

    @Test func aHandlerThatEndsTheTransactionItselfFailsClearly() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k')")
            let handler = TestHandler("k") { context in
                try await context.batch { batch in
                    try batch.connection.run(script: "rollback")
                    return context.progress
                }
            }
            let daemon = try await TestDaemon.start(database, [handler]) { $0.drains = true }
            try await daemon.wait()
            try await database.expect(
                "select state = 'discarded' and batches = 0 and last_error like '%ended the transaction%' from bulkhead.job_status",
                "t"
            )
        }
    }

    @Test func batchesWaitForTheDiskWhateverTheRoleSays() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                alter database \(database.name) set synchronous_commit = off;
                alter database \(database.name) set default_transaction_isolation = 'serializable';
                alter database \(database.name) set default_transaction_read_only = on;
                """
            )
            let admin = try await database.session()
            try await admin.run("select bulkhead.enqueue('k')")
            let seen = TestSignal(of: [String].self)
            let handler = TestHandler("k") { context in
                try await context.batch { batch in
                    seen.send(
                        try ["synchronous_commit", "transaction_isolation", "lock_timeout"].map {
                            try batch.connection.query("select current_setting(\($0))").required(
                                0,
                                0
                            )
                        }
                    )
                    return context.progress
                }
            }
            let daemon = try await TestDaemon.start(database, [handler]) { $0.drains = true }
            #expect(try await seen.next() == ["on", "read committed", "2s"])
            try await daemon.wait()
        }
    }
}
