import Bulkhead
import BulkheadTesting
import Postgres
import Testing

/// The worker's session is cut off at each point of a batch; the effects are there exactly once.
@Suite struct LostAnswerTests {
    @Test(arguments: [true, false])
    func aServerProcessThatIsEndedInABatchIsReplaced(_ isBeforeTheWork: Bool) async throws {
        try await TestDatabase.with { database in
            try await database.run(
                Effects.setUp + "; create sequence tries; select bulkhead.enqueue('effects')"
            )
            @Sendable func endOnce(_ batch: Batch, _ number: Int) throws {
                guard number == 1 else { return }
                let connection = batch.connection
                let tries: Int = try connection.query("select nextval('tries')").required(0, 0)
                if tries == 1 {
                    try connection.query("select pg_terminate_backend(pg_backend_pid())")
                }
            }
            let handler =
                isBeforeTheWork
                ? Effects.handler(3, before: endOnce) : Effects.handler(3, during: endOnce)
            let daemon = try await TestDaemon.start(database, [handler]) { $0.drains = true }
            try await daemon.wait()
            try await database.expect(Effects.areExactlyOnce(3), "t")
            try await database.expect("select last_value from tries", "2")
            try await database.expect("select attempt from bulkhead.job", "1")
        }
    }

    @Test func aServerProcessThatIsEndedAfterTheFenceRollsBack() async throws {
        try await TestDatabase.with { database in
            try await database.run(Effects.setUp + ";" + Effects.gateAfterFence)
            let gate = try await database.session()
            try await gate.run("select pg_advisory_lock(77); select bulkhead.enqueue('effects')")
            let daemon = try await TestDaemon.start(database, [Effects.handler(2)]) {
                $0.drains = true
            }
            try await gate.waitUntil(Effects.isAtGate)
            try await gate.run(Effects.endWhoIsAtGate)
            try await gate.waitUntil(Effects.isAtGate)
            try await gate.run("select pg_advisory_unlock(77)")
            try await daemon.wait()
            try await database.expect(Effects.areExactlyOnce(2), "t")
            try await database.expect("select attempt from bulkhead.job", "1")
        }
    }

    @Test func aCommitWhoseAnswerIsLostIsRecognised() async throws {
        try await TestDatabase.with { database in
            try await database.run(Effects.setUp + ";" + Effects.gateAfterFence)
            let proxy = try TestProxy(to: database)
            defer { proxy.close() }
            let gate = try await database.session()
            try await gate.run("select pg_advisory_lock(77); select bulkhead.enqueue('effects')")
            let daemon = try await TestDaemon.start(
                database.at(proxy.url(database)),
                [Effects.handler(2)]
            ) { $0.drains = true }
            try await gate.waitUntil(Effects.isAtGate)
            proxy.swallowReplies()
            try await gate.run("select pg_advisory_unlock(77)")
            try await gate.waitUntil("select batches = 1 from bulkhead.job")
            proxy.swallowReplies(false)
            proxy.cut()
            try await daemon.wait()
            try await database.expect(Effects.areExactlyOnce(2), "t")
        }
    }

    @Test func aCommitThatStillRunsWhenTheWorkerComesBackIsWaitedFor() async throws {
        try await TestDatabase.with { database in
            try await database.run(Effects.setUp + ";" + Effects.gateAfterFence)
            let proxy = try TestProxy(to: database)
            defer { proxy.close() }
            let gate = try await database.session()
            try await gate.run("select pg_advisory_lock(77); select bulkhead.enqueue('effects')")
            let daemon = try await TestDaemon.start(
                database.at(proxy.url(database)),
                [Effects.handler(2)]
            ) { $0.drains = true }
            try await gate.waitUntil(Effects.isAtGate)
            // The server hears nothing of it: the old process goes on to commit.
            proxy.cut()
            try await gate.waitUntil(
                """
                select exists (select from pg_locks l join pg_stat_activity a using (pid)
                    where l.locktype = 'advisory' and not l.granted and l.objsubid = 2
                        and a.datname = current_database())
                """
            )
            try await gate.run("select pg_advisory_unlock(77)")
            try await daemon.wait()
            try await database.expect(Effects.areExactlyOnce(2), "t")
        }
    }

    @Test func anOutcomeWhoseAnswerIsLostIsWrittenOnce() async throws {
        try await TestDatabase.with { database in
            // The job's end waits at the gate, and its answer is lost.
            try await database.run(
                Effects.setUp
                    + ";"
                    + Effects.gateAfterFence.replacing(
                        "new.batches > old.batches",
                        with: "new.state = 'completed'"
                    )
            )
            let proxy = try TestProxy(to: database)
            defer { proxy.close() }
            let gate = try await database.session()
            try await gate.run("select pg_advisory_lock(77); select bulkhead.enqueue('effects')")
            let daemon = try await TestDaemon.start(
                database.at(proxy.url(database)),
                [Effects.handler(1)]
            ) { $0.drains = true }
            try await gate.waitUntil(Effects.isAtGate)
            proxy.swallowReplies()
            try await gate.run("select pg_advisory_unlock(77)")
            try await gate.waitUntil("select state = 'completed' from bulkhead.job")
            proxy.swallowReplies(false)
            proxy.cut()
            try await daemon.wait()
            try await database.expect(Effects.areExactlyOnce(1), "t")
        }
    }
}
