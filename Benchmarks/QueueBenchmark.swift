import Bulkhead
import Foundation
import Postgres
import PostgresServer

/// Jobs that do nothing: how many are drained in a second, beside pgbench and beside an old transaction, and how
/// soon one starts.
struct QueueBenchmark {
    private let jobs = setting("BULKHEAD_BENCH_JOBS", 200_000)
    private let rounds = setting("BULKHEAD_BENCH_ROUNDS", 3)
    private let waitsForDisk = setting("BULKHEAD_BENCH_FSYNC", 1) != 0
    private let samples = 1000

    func run() async throws {
        let server = try await PostgresServer.start(
            .init(fsync: waitsForDisk, settings: ImportBenchmark.settings)
        )
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "bulkhead-bench-\(UUID().uuidString)"
        )
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        do {
            try await measure(server, folder)
        } catch {
            await server.close()
            try FileManager.default.removeItem(at: folder)
            throw error
        }
        await server.close()
        try FileManager.default.removeItem(at: folder)
    }

    private func measure(_ server: PostgresServer, _ folder: URL) async throws {
        let address = try DatabaseAddress(server.url())
        let connection = try session(address)
        _ = try await Installation(connection).install { _ in }
        let backlog = Backlog(server: server, connection: connection, jobs: jobs)
        try await compare(backlog, folder)
        try parts(connection)
        try await besideAnOldTransaction(backlog, address)
        try connection.run(script: "truncate bulkhead.job")
        try await start(address, connection)
    }

    private func session(_ address: DatabaseAddress) throws -> Connection {
        try Connection(address, settings: SessionSettings(applicationName: "bulkhead benchmark"))
    }

    // MARK: Throughput

    private func compare(_ backlog: Backlog, _ folder: URL) async throws {
        print("queue: \(jobs) jobs that do nothing, \(rounds) rounds")
        var (one, two, bare): ([Double], [Double], [Double]) = ([], [], [])
        for round in 1...rounds {
            let single = try await backlog.drain(daemons: 1)
            let double = try await backlog.drain(daemons: 2)
            let pgbench = try await backlog.drainByPgbench(clients: 2, in: folder)
            one.append(single.jobsPerSecond)
            two.append(double.jobsPerSecond)
            bare.append(pgbench.jobsPerSecond)
            print(
                "  round \(round): one daemon \(Int(single.jobsPerSecond)) jobs/s; \(single.load)"
            )
            print(
                "  round \(round): two daemons \(Int(double.jobsPerSecond)) jobs/s; \(double.load)"
            )
            print("  round \(round): pgbench \(Int(pgbench.jobsPerSecond)) jobs/s; \(pgbench.load)")
        }
        print(
            "queue: \(Int(one.median)) jobs/s drained by one daemon, \(Int(two.median)) by two; the same statements "
                + "by pgbench with 2 clients \(Int(bare.median)): one daemon reaches "
                + "\(figure(one.median / bare.median)) of it, two \(figure(two.median / bare.median)) (medians)"
        )
    }

    /// What the rate is made of: the two statements by themselves, in one session and one after the other.
    private func parts(_ connection: Connection) throws {
        let daemon = UUID().uuidString.lowercased()
        try connection.query(
            """
            select bulkhead.register_daemon(\(daemon), 'benchmark', 1, 'x/1', '1', '{noop}', '{default}', 1,
                '1 hour')
            """
        )
        try connection.run(script: "truncate bulkhead.job")
        try connection.query("select bulkhead.enqueue('noop') from generate_series(1, 50000)")
        for command in ["vacuum analyze bulkhead.job", "checkpoint"] {
            try connection.run(script: command)
        }
        var (claims, completions): ([Double], [Double]) = ([], [])
        var last: Int64 = 0
        while true {
            let start = ContinuousClock.now
            let rows = try connection.query(
                """
                select id from bulkhead.claim(\(daemon), 'default', '{noop}', '{noop}', 'benchmark', 100, 0, \(last))
                """
            )
            claims.append((ContinuousClock.now - start) / .milliseconds(1))
            let ids: [Int64] = try (0..<rows.count).map { try rows.required($0, 0) }
            guard let greatest = ids.max() else { break }
            last = greatest
            let middle = ContinuousClock.now
            try connection.query("select bulkhead.complete(\(ids), \(daemon))")
            completions.append((ContinuousClock.now - middle) / .milliseconds(1))
        }
        try connection.query("select bulkhead.unregister_daemon(\(daemon))")
        let (claim, completion) = (claims.median, completions.median)
        let flush = try flush(connection)
        print(
            "queue, limits: claiming 100 jobs takes \(figure(claim)) ms, completing them \(figure(completion)) ms; of each, "
                + "\(figure(flush)) ms are an empty commit's, its wait for the disk. A daemon claims over one "
                + "connection, so at most \(Int(100_000 / claim)) jobs/s; one worker completes at most "
                + "\(Int(100_000 / completion)) jobs/s; \(ProcessInfo.processInfo.activeProcessorCount) processors do "
                + "the rest of both and the daemon's own work"
        )
    }

    /// What a commit takes that changes nothing but has to be flushed.
    private func flush(_ connection: Connection) throws -> Double {
        try (0..<200).map { _ in
            let start = ContinuousClock.now
            try connection.run(
                script: "begin; select pg_logical_emit_message(true, 'bulkhead', ''); commit"
            )
            return (ContinuousClock.now - start) / .milliseconds(1)
        }.median
    }

    private func besideAnOldTransaction(
        _ backlog: Backlog,
        _ address: DatabaseAddress
    ) async throws {
        var (without, with): ([Double], [Double]) = ([], [])
        for _ in 1...rounds {
            without.append(try await backlog.drain(daemons: 1).jobsPerSecond)
            let old = try session(address)
            // It sees the backlog before any of it is claimed, so no version of a row can be vacuumed away.
            with.append(
                try await backlog.drain(
                    daemons: 1,
                    beside: {
                        try old.run(
                            script:
                                "begin isolation level repeatable read; select count(*) from bulkhead.job"
                        )
                    }
                ).jobsPerSecond
            )
            try old.rollback()
        }
        print(
            "queue, an old transaction holds back vacuum: \(Int(with.median)) jobs/s by one daemon, "
                + "\(Int(without.median)) without it: \(figure(with.median / without.median)) (medians, target 0.8)"
        )
    }

    // MARK: Latency

    private func start(_ address: DatabaseAddress, _ connection: Connection) async throws {
        let (starts, signal) = AsyncStream<ContinuousClock.Instant>.makeStream()
        let configuration = DaemonConfiguration(address: address, host: "benchmark")
        let handler = NoOperation { signal.yield(.now) }
        let daemon = Daemon(configuration, handlers: [handler], log: Logger(level: .warning))
        let running = Task { try await daemon.run() }
        var iterator = starts.makeAsyncIterator()
        var delays: [Double] = []
        for sample in 0..<samples + 20 {
            try connection.query("select bulkhead.enqueue('noop')")
            // The answer to the enqueue comes after its commit.
            let committed = ContinuousClock.now
            guard let started = await iterator.next() else { break }
            if sample >= 20 { delays.append((started - committed) / .milliseconds(1)) }
        }
        daemon.stop()
        try await running.value
        print(
            "queue, idle: a job starts \(figure(delays.percentile(0.5))) ms (p50), "
                + "\(figure(delays.percentile(0.95))) ms (p95), \(figure(delays.percentile(0.99))) ms (p99) "
                + "after the commit of its enqueue; \(delays.count) jobs, one at a time"
        )
    }
}
