import Bulkhead
import Foundation
import Postgres
import PostgresServer

/// Jobs that do nothing: how many are drained in a second, and how soon one starts.
struct QueueBenchmark {
    private let jobs = Main.setting("BULKHEAD_BENCH_JOBS", 200_000)
    private let samples = 1000

    func run() async throws {
        let server = try await PostgresServer.start(
            .init(fsync: true, settings: ImportBenchmark.settings)
        )
        do {
            let address = try DatabaseAddress(server.url())
            let connection = try Connection(
                address,
                settings: SessionSettings(applicationName: "bulkhead benchmark")
            )
            _ = try await Installation(connection).install { _ in }
            try await drain(address, connection)
            try await start(address, connection)
        } catch {
            await server.close()
            throw error
        }
        await server.close()
    }

    private func drain(_ address: DatabaseAddress, _ connection: Connection) async throws {
        for round in 1...3 {
            try connection.query("select bulkhead.enqueue('noop') from generate_series(1, \(jobs))")
            try connection.run(script: "vacuum analyze bulkhead.job")
            var configuration = DaemonConfiguration(address: address, host: "benchmark")
            configuration.drains = true
            let daemon = Daemon(
                configuration,
                handlers: [NoOperation()],
                log: Logger(level: .warning)
            )
            let start = ContinuousClock.now
            try await daemon.run()
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            print(
                "queue, round \(round): \(Int(Double(jobs) / seconds)) jobs/s drained by one daemon"
            )
        }
    }

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

/// A handler that does nothing but say that it was started.
struct NoOperation: JobHandler {
    let kind = "noop"
    let isSmall = true
    var started: @Sendable () -> Void = {}

    func run(_ context: JobContext) async throws -> JSONText? {
        started()
        return nil
    }
}
