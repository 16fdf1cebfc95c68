import Bulkhead
import BulkheadTesting
import Postgres
import Testing

@Suite struct CancelTests {
    static let sleeper = TestHandler("sleep") { context in
        try await context.batch { batch in
            try batch.connection.query("select pg_sleep(600)")
            return context.progress
        }
    }

    static let isAsleep: SQL = """
        select exists (select from pg_stat_activity
            where query like 'select pg_sleep(600)%' and state = 'active' and datname = current_database())
        """

    @Test(.timeLimit(.minutes(15))) func aRunningStatementEndsAtOnce() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('sleep')")
            let daemon = try await TestDaemon.start(database, [Self.sleeper])
            try await database.waitUntil(Self.isAsleep)
            try await database.run("select bulkhead.cancel(1)")
            try await database.waitUntil("select state = 'cancelled' from bulkhead.job")
            try await database.expect("select count(*) from bulkhead.job_error", "0")
            try await daemon.stop()
        }
    }

    @Test func aJobThatComputesBetweenBatchesHearsOfItWhenItAsks() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k')")
            let handler = TestHandler("k") { context in
                try await context.batch { _ in Progress(rowsDone: 1) }
                while true { try context.checkInterruption() }
            }
            let daemon = try await TestDaemon.start(database, [handler])
            try await database.waitUntil("select batches = 1 from bulkhead.job")
            try await database.run("select bulkhead.cancel(1)")
            try await database.waitUntil("select state = 'cancelled' from bulkhead.job")
            try await daemon.stop()
        }
    }

    @Test func oneOfABunchIsCancelledWithoutHarmToItsNeighbours() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                "select bulkhead.enqueue('small', jsonb_build_object('n', n)) from generate_series(1, 20) n"
            )
            let handler = TestHandler("small", isSmall: true) { context in
                guard context.job.id == 7 else { return }
                _ = try await context.read { try $0.query("select pg_sleep(600)").count }
            }
            let daemon = try await TestDaemon.start(database, [handler]) { $0.workers = 1 }
            try await database.waitUntil(Self.isAsleep)
            try await database.run("select bulkhead.cancel(7), bulkhead.cancel(12)")
            try await database.waitUntil(
                "select count(*) = 0 from bulkhead.job where state not in ('completed', 'cancelled')"
            )
            #expect(
                try await database.rows(
                    "select id, attempt from bulkhead.job where state = 'cancelled' order by id"
                )
                    == [["7", "1"], ["12", "1"]]
            )
            try await database.expect("select count(*) from bulkhead.job where attempt > 1", "0")
            try await daemon.stop()
        }
    }

    @Test func anOpenTransactionWithACancelStopsNeitherHeartbeatNorBatches() async throws {
        try await TestDatabase.with { database in
            try await database.run(Effects.setUp + "; select bulkhead.enqueue('effects')")
            let goOn = TestSignal(of: Int.self)
            let plain = Effects.handler(5)
            let handler = TestHandler("effects") { context in
                try await context.batch { _ in context.progress }
                try await goOn.next()
                _ = try await plain.run(context)
            }
            let daemon = try await TestDaemon.start(database, [handler]) { $0.lease = .seconds(1) }
            try await database.waitUntil("select batches = 1 from bulkhead.job")
            let psql = try await database.session()
            try await psql.run("begin; select bulkhead.cancel(1)")
            let lease = try await database.value("select lease_expires_at from bulkhead.daemon")
            // Two leases later it has been renewed all the time.
            try await database.waitUntil(
                "select lease_expires_at > \(lease)::timestamptz + interval '2 s' from bulkhead.daemon"
            )
            goOn.send(1)
            try await database.waitUntil("select state = 'completed' from bulkhead.job")
            try await database.expect("select count(*) from effect", "5")
            try await psql.run("commit")
            try await database.expect("select state from bulkhead.job", "completed")
            try await daemon.stop()
        }
    }
}
