internal import Bulkhead
internal import Postgres

/// Calls one of the functions that steer jobs for each of some jobs, and says what came of it.
struct JobSteering {
    /// What happened to the jobs: the name of their list in the JSON document.
    let participle: String
    /// What is said of each job.
    let note: (Int64) -> String

    /// Goes on with the next job when one is refused.
    ///
    /// - Returns: `done` when none was refused.
    func run(
        _ arguments: Arguments,
        _ terminal: Terminal,
        call: (Int64) -> SQL
    ) async throws -> ExitStatus {
        let jobs = try arguments.jobs()
        return try await Database.use(arguments) { connection in
            var status = ExitStatus.done
            var steered: [Int64] = []
            for job in jobs {
                do {
                    _ = try connection.transaction { try $0.query("select \(call(job))").count }
                    steered.append(job)
                } catch let error as PostgresError where error.isRefusal {
                    Terminal.error(
                        [error.message, error.hint].compactMap(\.self).joined(separator: ": ")
                    )
                    status = .failed
                }
            }
            if terminal.printsJSON {
                try terminal.result("{\"\(participle)\":\(steered)}")
            } else {
                for job in steered { terminal.note(note(job)) }
            }
            return status
        }
    }
}

extension PostgresError {
    /// Whether a function of the service said no to the job that it was given.
    fileprivate var isRefusal: Bool {
        ["P0002", "55000", "22023"].contains(state?.rawValue)
    }
}
