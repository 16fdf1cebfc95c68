/// Waits for jobs.
enum WaitVerb: Verb {
    static let name = "wait"
    static let summary = "Wait for jobs to end; exit 1 unless all completed"
    static let synopsis = "ID..."
    static let options: [Option] = []
    static let example = "bulkhead wait 42 && echo loaded"

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        let jobs = try arguments.jobs()
        return try await Database.use(arguments) { connection in
            var waiter = JobWaiter(connection, arguments, terminal)
            return try await waiter.wait(for: jobs)
        }
    }
}
