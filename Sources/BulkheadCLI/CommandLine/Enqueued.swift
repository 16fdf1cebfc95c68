internal import Postgres

/// A job that a command has just added: prints its id and, if asked, waits for its end.
struct Enqueued {
    private let job: Int64
    private let connection: Connection
    private let waits: Bool
    private let terminal: Terminal

    init(_ job: Int64, _ connection: Connection, _ arguments: Arguments, _ terminal: Terminal) {
        self.job = job
        self.connection = connection
        self.terminal = terminal
        waits = arguments.has("--wait")
    }

    func finish() async throws -> ExitStatus {
        guard waits else {
            try terminal.result(terminal.printsJSON ? "{\"id\":\(job)}" : "\(job)")
            return .done
        }
        if !terminal.printsJSON { try terminal.result("\(job)") }
        return try await JobWaiter(connection, terminal).wait(for: [job])
    }
}
