internal import Bulkhead
internal import Postgres

/// Cancels jobs.
enum CancelVerb: Verb {
    static let name = "cancel"
    static let summary = "Cancel jobs; committed batches stay"
    static let synopsis = "ID..."
    static let options: [Option] = []
    static let example = "bulkhead cancel 42"

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        let jobs = try arguments.jobs()
        return try await Database.use(arguments) { connection in
            var status = ExitStatus.done
            var cancelled: [Int64] = []
            for job in jobs {
                do {
                    _ = try connection.transaction {
                        try $0.query("select bulkhead.cancel(\(job))").count
                    }
                    cancelled.append(job)
                } catch let error as PostgresError
                    where error.state?.errorClass == "P0" || error.state?.errorClass == "55"
                {
                    Terminal.error(error.message)
                    status = .failed
                }
            }
            if terminal.printsJSON {
                try terminal.result("{\"cancelled\":\(cancelled)}")
            } else {
                for job in cancelled {
                    terminal.note("job \(job) is cancelled, or will be in a moment")
                }
            }
            return status
        }
    }
}
