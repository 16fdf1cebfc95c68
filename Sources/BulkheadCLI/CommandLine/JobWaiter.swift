internal import Bulkhead
internal import FoundationEssentials
internal import Glibc
internal import Postgres
internal import Signals

/// Waits for jobs to end, and shows how far they are; a server that goes away is waited for as well.
struct JobWaiter {
    /// The present connection.
    private(set) var connection: Connection
    private let arguments: Arguments
    private let terminal: Terminal

    /// How often the jobs are looked at.
    private static let interval: Duration = .milliseconds(200)
    /// How long a server may be away.
    private static let patience: Duration = .seconds(600)

    init(_ connection: Connection, _ arguments: Arguments, _ terminal: Terminal) {
        self.connection = connection
        self.arguments = arguments
        self.terminal = terminal
    }

    /// - Returns: `done` when all jobs completed.
    mutating func wait(for jobs: [Int64]) async throws -> ExitStatus {
        leaveOnInterrupt(jobs)
        var status = ExitStatus.done
        for job in jobs {
            if try await wait(for: job) != "completed" { status = .failed }
        }
        return status
    }

    private mutating func wait(for job: Int64) async throws -> String {
        var progress = ProgressLine(terminal)
        let start = ContinuousClock.now
        var hasAsked = false
        while true {
            let status = try await status(of: job)
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

    private mutating func status(of job: Int64) async throws -> JobStatus {
        while true {
            do {
                return try JobStatus.find(job, connection)
            } catch let error as PostgresError where error.kind == .connectionLost {
                terminal.note("the connection was lost; waiting for the server")
                try await reconnect()
            }
        }
    }

    private mutating func reconnect() async throws {
        let deadline = ContinuousClock.now + Self.patience
        while true {
            do {
                connection = try Database.connect(arguments)
                return
            } catch let error as NoDatabase {
                if .now > deadline { throw error }
                try await Task.sleep(for: Self.interval)
            }
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
