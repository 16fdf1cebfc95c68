internal import Bulkhead
internal import FoundationEssentials
internal import Glibc
internal import Postgres
internal import Signals

/// Waits for jobs to end, and shows how far they are.
struct JobWaiter {
    private let connection: Connection
    private let terminal: Terminal

    /// How often the jobs are looked at.
    private static let interval: Duration = .milliseconds(200)

    init(_ connection: Connection, _ terminal: Terminal) {
        self.connection = connection
        self.terminal = terminal
    }

    /// - Returns: `done` when all jobs completed.
    func wait(for jobs: [Int64]) async throws -> ExitStatus {
        leaveOnInterrupt(jobs)
        var status = ExitStatus.done
        for job in jobs where try await wait(for: job) != "completed" { status = .failed }
        return status
    }

    private func wait(for job: Int64) async throws -> String {
        var progress = ProgressLine(terminal)
        let start = ContinuousClock.now
        var hasAsked = false
        while true {
            let status = try JobStatus.find(job, connection)
            progress.show(status)
            if status.isFinished {
                progress.end()
                try report(status)
                return status.state
            }
            if !hasAsked, status.state == "available", .now - start > .seconds(3) {
                hasAsked = true
                if let warning = try status.hindrance(connection) {
                    progress.end()
                    terminal.note(warning)
                }
            }
            try await Task.sleep(for: Self.interval)
        }
    }

    private func report(_ status: JobStatus) throws {
        if terminal.printsJSON { try terminal.result(status.json.text) }
        if status.state == "completed" {
            terminal.note("job \(status.id) completed: \(status.summary)")
        } else {
            let reason = status.lastError.map { ": \($0)" } ?? ""
            Terminal.error("job \(status.id) \(status.state)\(reason)")
        }
    }

    private func leaveOnInterrupt(_ jobs: [Int64]) {
        let names = jobs.map(String.init).joined(separator: " ")
        SignalWatch.start([SIGINT]) { [terminal] _, _ in
            terminal.note("\nnot waiting any longer; the job goes on: bulkhead wait \(names)")
            _exit(ExitStatus.interrupted.rawValue)
        }
    }
}
