import Bulkhead
import BulkheadTesting
import Foundation
import Postgres
import PostgresServer
import Testing

/// What a daemon does while the server goes away and comes back.
@Suite struct ServerTests {
    private func withServer(
        _ body: (PostgresServer, TestDatabase) async throws -> Void
    ) async throws {
        let server = try await PostgresServer.start()
        let database = try await TestDatabase(on: server)
        try await database.run(Effects.setUp)
        try await body(server, database)
        await server.close()
    }

    private static let slow = Effects.handler(12) { batch, _ in
        try batch.connection.query("select pg_sleep(0.05)")
    }

    @Test func aCrashOfTheServerBurnsNoAttemptAndFewLines() async throws {
        try await withServer { server, database in
            let log = try TestLog()
            try await database.run(
                "select bulkhead.enqueue('effects'), bulkhead.enqueue('small') from generate_series(1, 1)"
            )
            let daemon = try await TestDaemon.start(
                database,
                [Self.slow, TestHandler("small", isSmall: true) { _ in }],
                log: log.logger
            ) { $0.lease = .milliseconds(900) }
            try await database.waitUntil(
                "select batches > 2 from bulkhead.job where kind = 'effects'"
            )
            try await server.stop(.immediate)
            // Longer than a lease: when the server is back, all of them look over.
            let pause = ExecutorThread(name: "pause")
            await pause.sleep(for: .milliseconds(1500))
            pause.stop()
            try await server.start()
            try await database.run("select bulkhead.enqueue('small') from generate_series(1, 200)")
            try await database.waitUntil(
                "select count(*) = 0 from bulkhead.job where state <> 'completed'"
            )
            try await database.expect(Effects.areExactlyOnce(12), "t")
            try await database.expect("select max(attempt) from bulkhead.job", "1")
            try await database.expect("select count(*) from bulkhead.job_error", "0")
            try await daemon.stop()
            let complaints = log.lines.filter { $0.contains(" warning ") || $0.contains(" error ") }
            #expect((1...4).contains(complaints.count), "\(complaints)")
            #expect(log.lines.contains { $0.contains("server is back") })
        }
    }

    @Test func aServerThatTakesNoWritesIsWaitedFor() async throws {
        try await withServer { server, database in
            let log = try TestLog(level: .debug)
            let standby = TestSignal<Void>()
            try await database.run("select bulkhead.enqueue('effects')")
            let handler = Effects.handler(
                12,
                between: { if $0 == 3 { try await standby.next() } }
            )
            let daemon = try await TestDaemon.start(database, [handler], log: log.logger) {
                $0.patience = .milliseconds(500)
                $0.lease = .seconds(60)
            }
            try await database.waitUntil("select batches = 3 from bulkhead.job")
            // A standby, as a failover shows it until it is promoted.
            try await server.stop(.fast)
            try Data().write(to: URL(fileURLWithPath: "\(server.dataDirectory)/standby.signal"))
            try await server.start()
            standby.send()
            try await Self.outlivePatience(log)
            try await database.expect("select state || batches from bulkhead.job", "running3")
            try await database.expect("select pg_promote()", "t")
            try await database.waitUntil(Effects.areExactlyOnce(12))
            try await database.expect("select attempt from bulkhead.job", "1")
            try await daemon.stop()
        }
    }

    /// Seven tries with their pauses take longer than the daemons here have patience.
    private static func outlivePatience(_ log: TestLog) async throws {
        try await log.waitUntil { lines in lines.count { $0.contains("trying again") } >= 7 }
    }

    @Test func aPasswordThatIsChangedIsNoFaultOfTheJobs() async throws {
        try await withServer { server, database in
            let log = try TestLog(level: .debug)
            try await database.run(
                """
                create role worker login;
                select bulkhead.grant_daemon('worker');
                grant all on effect to worker
                """
            )
            let daemon = try await TestDaemon.start(
                database.at(database.url.replacing("postgres@", with: "worker@")),
                [Self.slow, TestHandler("small", isSmall: true) { _ in }],
                log: log.logger
            ) { $0.patience = .milliseconds(200) }
            // All of the daemon's own sessions are open once a job is done, and live on; a worker opens one
            // for each job that is not small.
            try await database.run("select bulkhead.enqueue('small')")
            try await database.waitUntil("select state = 'completed' from bulkhead.job")
            try await database.run("alter role worker nologin; select bulkhead.enqueue('effects')")
            try await Self.outlivePatience(log)
            try await database.expect(
                "select state from bulkhead.job where kind = 'effects'",
                "running"
            )
            try await database.run("alter role worker login")
            try await database.waitUntil(Effects.areExactlyOnce(12))
            try await database.expect(
                "select attempt from bulkhead.job where kind = 'effects'",
                "1"
            )
            try await daemon.stop()
        }
    }
}
