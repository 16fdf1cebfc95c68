import Bulkhead
import BulkheadTesting
import Foundation
import Postgres
import PostgresServer
import Testing

/// Each thing that a job may heed, made real on a server.
@Suite struct GovernorTests {
    /// Ends after one batch.
    private static let one = TestHandler("k") { context in
        try await context.batch { _ in Progress(rowsDone: 1) }
    }

    private static let completed: SQL = "select bool_and(state = 'completed') from bulkhead.job"

    private func waiting(_ pattern: String) -> SQL {
        "select bool_or(waiting ~ \(pattern)) from bulkhead.job"
    }

    @Test func sessionsThatWaitBehindABatchHoldUpTheNextOne() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                create table t (n int); insert into t values (0);
                select bulkhead.enqueue('k', limits => '{"lock_waiters": 1}')
                """
            )
            let (locked, goOn) = (TestSignal(), DispatchSemaphore(value: 0))
            let handler = TestHandler("k") { context in
                while context.batches < 2 {
                    try await context.batch { batch in
                        try batch.connection.query("update t set n = n + 1")
                        if context.batches == 0 {
                            locked.send()
                            goOn.wait()
                        }
                        return Progress(rowsDone: context.batches)
                    }
                }
            }
            let log = try TestLog(level: .debug)
            let daemon = try await TestDaemon.start(database, [handler], log: log.logger)
            try await locked.next()
            // The second one waits behind the first, which waits behind the batch.
            let waiters = [try await database.session(), try await database.session()]
            let updates = Task {
                await withThrowingTaskGroup(of: Void.self) { group in
                    for waiter in waiters {
                        group.addTask { try await waiter.run("update t set n = n") }
                    }
                }
            }
            try await database.waitUntil("select bulkhead.lock_waiters(1) = 2")
            try await waitForLook(database)
            goOn.signal()
            try await log.waitUntil { $0.contains { $0.contains("lock waiters 2 > 1") } }
            await updates.value
            // Nobody waits any longer.
            try await database.waitUntil(Self.completed)
            try await database.expect("select n from t", "2")
            try await daemon.stop()
        }
    }

    /// Waits until the governor has looked from beginning to end since now.
    private func waitForLook(_ database: TestDatabase) async throws {
        let now = try await database.value("select clock_timestamp()") ?? ""
        try await database.waitUntil(
            """
            select count(*) > 0 from pg_stat_activity
            where datname = current_database() and application_name = 'bulkhead governor'
                and query like '%lock_waiters%' and state = 'idle' and query_start > \(now)::timestamptz
            """
        )
    }

    @Test func aServerThatWritesMuchHoldsUpTheJob() async throws {
        try await withOwnServer { _, database in
            try await database.run(
                "create table w (t text); select bulkhead.enqueue('k', limits => '{\"wal_rate\": \"1MB\"}')"
            )
            let writing = Lock(true)
            let writer = try await database.session()
            let writes = Task {
                while writing.withLock({ $0 }) {
                    try await writer.run(
                        "insert into w select repeat(md5(n::text), 30) from generate_series(1, 5000) n"
                    )
                }
            }
            try await database.waitUntil("select pg_relation_size('w') > 10000000")
            let daemon = try await TestDaemon.start(database, [Self.one])
            try await database.waitUntil(waiting(#"^WAL rate [\d.]+ [MG]B/s > 1 MB/s$"#))
            writing.withLock { $0 = false }
            try await writes.value
            try await database.waitUntil(Self.completed)
            try await daemon.stop()
        }
    }

    @Test func aReplicaThatLagsHoldsUpTheJob() async throws {
        try await withOwnServer { server, database in
            let standby = try await server.standby(database)
            let replica = try await TestSession.open(DatabaseAddress(standby.url()))
            try await database.run("create table t (n int)")
            try await database.waitUntil(
                "select count(*) = 1 from bulkhead.replicas() where place = bulkhead.wal_position()"
            )
            let daemon = try await TestDaemon.start(database, [Self.one])
            let enqueue = #"select bulkhead.enqueue('k', limits => '{"replica_lag": "2 s"}')"#
            try await database.run(enqueue)
            try await database.waitUntil(Self.completed)
            try await replica.run("select pg_wal_replay_pause()")
            try await replica.waitUntil("select pg_get_wal_replay_pause_state() = 'paused'")
            try await database.run("insert into t values (1)")
            // Long enough ago that its lag is more than the limit by now.
            try await database.waitUntil(
                "select bool_or(lag > 2) from bulkhead.replicas(), pg_logical_emit_message(false, 'x', 'y')"
            )
            try await database.run(enqueue)
            try await database.waitUntil(waiting(#"^replica lag [\d.]+ s > 2 s$"#))
            try await replica.run("select pg_wal_replay_resume()")
            try await database.waitUntil(Self.completed)
            try await daemon.stop()
            await standby.close()
        }
    }

    @Test func aQueueOfTheArchiverHoldsUpTheJob() async throws {
        let settings = ["archive_mode": "on", "archive_command": "false"]
        try await withOwnServer(.init(settings: settings)) { server, database in
            try await database.run(
                """
                select bulkhead.enqueue('k', limits => '{"archive_queue": 1}');
                create table t (n int);
                """
            )
            for _ in 1...3 {
                try await database.run("insert into t values (1)")
                try await database.run("select pg_switch_wal()")
            }
            let daemon = try await TestDaemon.start(database, [Self.one])
            try await database.waitUntil(waiting("^archive queue 3 segments > 1 segments$"))
            try await database.run("alter system set archive_command = 'true'")
            try await database.run("select pg_reload_conf()")
            try await database.waitUntil(Self.completed)
            // From now on by the distance.
            try await database.waitUntil(
                "select last_archived_wal is not null and bulkhead.archive_queue() = 0 from pg_stat_archiver"
            )
            try await daemon.stop()
        }
    }

    @Test func aPreparedTransactionAndASlotHoldBackVacuumAsWell() async throws {
        try await withOwnServer(.init(settings: ["max_prepared_transactions": "5"])) {
            server,
            database in
            let standby = try await server.standby(
                database,
                slot: "s",
                settings: ["max_prepared_transactions": "5"]
            )
            try await database.waitUntil("select xmin is not null from pg_replication_slots")
            try await standby.stop()
            let psql = try await database.session()
            try await psql.run("create table t (n int); begin; insert into t values (1)")
            try await psql.run("prepare transaction 'forgotten'")
            let daemon = try await TestDaemon.start(database, [Self.one])
            try await database.run(
                #"select bulkhead.enqueue('k', limits => '{"snapshot_age": "0 s"}')"#
            )
            // The older one is named.
            try await database.waitUntil(
                waiting(#"^snapshot age .* \(prepared transaction forgotten\)$"#)
            )
            try await database.run("rollback prepared 'forgotten'")
            try await database.waitUntil(waiting(#"^snapshot age .* \(replication slot s\)$"#))
            try await database.run("select pg_drop_replication_slot('s')")
            try await database.waitUntil(Self.completed)
            try await daemon.stop()
            await standby.close()
        }
    }

    @Test func aRoleThatMayNotReadSaysSoAndGoesOn() async throws {
        try await withOwnServer(
            .init(settings: ["archive_mode": "on", "archive_command": "false"])
        ) {
            server,
            database in
            let standby = try await server.standby(database)
            let connection = try Connection(
                database.address,
                settings: SessionSettings(applicationName: "setup")
            )
            try await database.run("create role d login")
            try Installation(connection).grant(to: "d")
            let limited = try database.at(database.url.replacing("postgres@", with: "d@"))
            // Of another role, so that it may not be looked at.
            let psql = try await database.session()
            try await psql.run("begin isolation level repeatable read; select 1")
            let (began, goOn) = (TestSignal(), TestSignal(of: Int.self))
            let handler = TestHandler("k") { context in
                try await context.batch { _ in Progress(rowsDone: 1) }
                began.send()
                try await goOn.next()
            }
            try await database.run(
                """
                select bulkhead.enqueue('k', limits => '{"replica_lag": "0 s", "snapshot_age": "0 s",
                    "archive_queue": 0, "lock_waiters": 5, "wal_rate": "1GB"}')
                """
            )
            let log = try TestLog()
            let daemon = try await TestDaemon.start(limited, [handler], log: log.logger)
            try await began.next()
            try await database.waitUntil(
                """
                select unheeded = array[
                    'archive queue: the daemon''s role may not read it: grant pg_monitor to it',
                    'replica lag: the daemon''s role may not read it: grant pg_monitor to it',
                    'snapshot age: the daemon''s role may not read it: grant pg_monitor to it']
                from bulkhead.job_status
                """
            )
            // With the right, what it reads counts.
            try await database.run("grant pg_monitor to d")
            try await database.waitUntil("select unheeded is null from bulkhead.job_status")
            goOn.send(1)
            try await database.waitUntil(Self.completed)
            try await daemon.stop()
            #expect(log.lines.filter { $0.contains("a limit is not heeded") }.count == 3)
            await standby.close()
        }
    }
}
