import Bulkhead
import Foundation
import Postgres
import PostgresServer

/// A queue full of jobs that do nothing, drained in several ways.
struct Backlog {
    let server: PostgresServer
    let connection: Connection
    let jobs: Int

    /// What one way of draining took.
    struct Drain {
        let jobsPerSecond: Double
        /// What the drainers and the server had of the processors, each second.
        let clientLoad: Double
        let serverLoad: Double

        var load: String {
            "of the processors \(figure(clientLoad)) went to the client, \(figure(serverLoad)) to the server"
        }
    }

    /// Drains by this many daemons, each a process of its own.
    ///
    /// - Parameters:
    ///   - daemons: How many.
    ///   - before: Runs when the jobs are there and none is claimed.
    /// - Returns: What it took.
    /// - Throws: When a daemon or the server fails.
    func drain(
        daemons: Int,
        beside before: () throws -> Void = {}
    ) async throws -> Drain {
        try await measure(after: before) {
            try await withThrowingTaskGroup(of: Child.self) { group in
                for _ in 0..<daemons {
                    group.addTask { [url = server.url()] in
                        try Child.run(
                            "/proc/self/exe",
                            [Main.drainWord],
                            environment: ["BULKHEAD_DATABASE_URL": url]
                        )
                    }
                }
                return try await group.reduce(0) { $0 + $1.processorSeconds }
            }
        }
    }

    /// Drains by pgbench, which sends the statements of a daemon and does nothing else.
    ///
    /// Each client claims behind the last key that it claimed, as a daemon does.
    func drainByPgbench(clients: Int, in folder: URL) async throws -> Drain {
        let daemon = UUID().uuidString.lowercased()
        try connection.query(
            """
            select bulkhead.register_daemon(\(daemon), 'benchmark', 1, 'x/1', '1', '{noop}', '{default}', 1,
                '1 hour')
            """
        )
        let script = folder.appending(path: "drain.sql").path()
        try """
        select coalesce(string_agg(id::text, ','), '') as ids,
            coalesce(max(priority)::text, 'null') as priority, coalesce(max(id)::text, 'null') as last
        from bulkhead.claim('\(daemon)', 'default', '{noop}', '{noop}', 'benchmark', 100, :priority, :last) \\gset
        select bulkhead.complete('{:ids}', '\(daemon)');
        """.write(toFile: script, atomically: true, encoding: .utf8)
        let drain = try await measure {
            try Child.run(
                server.binDirectory + "/pgbench",
                [
                    "-n", "-c", "\(clients)", "-j", "\(clients)", "-t",
                    "\(jobs / 100 / clients + 50)",
                    "-D", "priority=null", "-D", "last=null", "-f", script, server.url(),
                ],
                environment: [:]
            ).processorSeconds
        }
        try connection.query("select bulkhead.unregister_daemon(\(daemon))")
        return drain
    }

    /// The same jobs and a clean table, drained; the time ends with the last job, not with the drainers.
    private func measure(
        after before: () throws -> Void = {},
        _ drain: () async throws -> Double
    ) async throws -> Drain {
        try connection.run(script: "truncate bulkhead.job")
        try connection.query("select bulkhead.enqueue('noop') from generate_series(1, \(jobs))")
        for command in ["vacuum analyze bulkhead.job", "checkpoint"] {
            try connection.run(script: command)
        }
        try before()
        let secondsBefore = try serverSeconds()
        let start: String = try connection.query("select clock_timestamp()").required(0, 0)
        let clientSeconds = try await drain()
        let row = try connection.query(
            """
            select extract(epoch from max(finished_at) - \(start)::timestamptz)::float8,
                count(*) filter (where state = 'completed')
            from bulkhead.job
            """
        )
        let seconds: Double = try row.required(0, 0)
        let completed: Int = try row.required(0, 1)
        guard completed == jobs else { throw NotMeasured("\(completed) of \(jobs) jobs completed") }
        return Drain(
            jobsPerSecond: Double(jobs) / seconds,
            clientLoad: clientSeconds / seconds,
            serverLoad: (try serverSeconds() - secondsBefore) / seconds
        )
    }

    /// What the server's processes that have ended had of the processors: their sessions are over by then.
    private func serverSeconds() throws -> Double {
        guard let pid = try server.postmasterPID() else { return .nan }
        let text = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        // Behind the name, which ends in the last parenthesis: the state is field 3, so cutime is the 14th there.
        let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 14, let user = Double(fields[13]), let system = Double(fields[14])
        else {
            return .nan
        }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
