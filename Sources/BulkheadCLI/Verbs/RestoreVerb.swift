internal import Postgres

/// Enqueues the return of what a purge archived.
enum RestoreVerb: Verb {
    static let name = "restore"
    static let summary = "Bring back what a purge archived"
    static let synopsis = "ID [options]"
    static let options: [Option] =
        [
            .value(
                "--on-conflict",
                "POLICY",
                "error, skip, fill, update or replace a row that is there again (error)"
            )
        ] + Option.enqueue
    static let example = "bulkhead restore 42 --on-conflict skip --wait"

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        let ids = try arguments.jobs()
        guard ids.count == 1 else { throw UsageError("restore takes one id") }
        let call: SQL = """
            select bulkhead.restore(\(ids[0]), on_conflict => \(arguments.text("--on-conflict") ?? "error"),
                \(try EnqueueOptions(arguments).sql))
            """
        return try await Database.use(arguments) { connection in
            let job = try Enqueued.add(call, connection)
            return try await Enqueued(job, connection, arguments, terminal).finish()
        }
    }
}
