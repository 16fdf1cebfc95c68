internal import Postgres

/// A job that a command has just added: prints its id and, if asked, waits for its end.
struct Enqueued {
    private let job: Int64
    private let connection: Connection
    private let waits: Bool
    private let isDryRun: Bool
    private let arguments: Arguments
    private let terminal: Terminal

    init(_ job: Int64, _ connection: Connection, _ arguments: Arguments, _ terminal: Terminal) {
        self.job = job
        self.connection = connection
        self.arguments = arguments
        self.terminal = terminal
        isDryRun = arguments.has("--dry-run")
        // Only what it finds is of use.
        waits = arguments.has("--wait") || isDryRun
    }

    /// Runs a statement that adds a job.
    ///
    /// - Throws: `UsageError` for what the server calls a wrong argument.
    static func add(_ call: SQL, _ connection: Connection) throws -> Int64 {
        do {
            return try connection.transaction { try $0.query(call).required(0, 0) }
        } catch let error as PostgresError where error.isAboutArguments {
            let said = [error.message, error.detail].compactMap(\.self).joined(separator: ": ")
            throw UsageError(said.hasSuffix(".") ? String(said.dropLast()) : said)
        }
    }

    func finish() async throws -> ExitStatus {
        guard waits else {
            try terminal.result(terminal.printsJSON ? "{\"id\":\(job)}" : "\(job)")
            return .done
        }
        if !terminal.printsJSON { try terminal.result("\(job)") }
        var waiter = JobWaiter(connection, arguments, terminal)
        let status = try await waiter.wait(for: [job])
        if isDryRun, !terminal.printsJSON {
            try DryRunReport.print(job, waiter.connection, terminal)
        }
        return status
    }
}

extension PostgresError {
    /// Whether an argument was refused: by the service, or as no time, interval or JSON.
    fileprivate var isAboutArguments: Bool {
        ["22023", "22007", "22008", "22009", "22015", "22P02", "22P05"].contains(state?.rawValue)
    }
}
