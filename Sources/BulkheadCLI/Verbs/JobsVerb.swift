internal import Bulkhead
internal import Postgres

/// Lists jobs.
enum JobsVerb: Verb {
    static let name = "jobs"
    static let summary = "List jobs, the newest first"
    static let synopsis = "[--state S]... [--kind K] [--queue Q] [--limit N]"
    static let options: [Option] = [
        .value("--state", "S", "only jobs in this state", repeats: true),
        .value("--kind", "K", "only jobs of this kind"),
        .value("--queue", "Q", "only jobs of this queue"),
        .value("--limit", "N", "at most so many (20)"),
    ]
    static let example = "bulkhead jobs --state running --state retryable"

    private static let states = [
        "blocked", "scheduled", "available", "running", "retryable", "paused", "completed",
        "cancelled",
        "discarded",
    ]

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        guard arguments.operands.isEmpty else {
            throw UsageError(
                "jobs takes no \(arguments.operands[0]); `bulkhead show ID` shows one job"
            )
        }
        if let unknown = arguments.texts("--state")?.first(where: { !states.contains($0) }) {
            throw UsageError("--state is one of \(states.joined(separator: ", ")), not \(unknown)")
        }
        let limit = try arguments.number("--limit", in: 1...100_000) ?? 20
        return try await Database.use(arguments) { connection in
            let jobs = try JobStatus.query(
                """
                where (\(arguments.texts("--state"))::text[] is null or state = any (\(arguments.texts("--state"))))
                    and (\(arguments.text("--kind"))::text is null or kind = \(arguments.text("--kind")))
                    and (\(arguments.text("--queue"))::text is null or queue = \(arguments.text("--queue")))
                order by id desc limit \(limit)
                """,
                connection
            )
            try print(jobs, terminal)
            return .done
        }
    }

    private static func print(_ jobs: [JobStatus], _ terminal: Terminal) throws {
        if terminal.printsJSON {
            return try terminal.result("[\(jobs.map(\.json.text).joined(separator: ",\n "))]")
        }
        guard !jobs.isEmpty else { return terminal.note("no jobs") }
        var table = TextTable("ID", "KIND", "QUEUE", "STATE", "ROWS", "%", "ROWS/S", "TIME", "")
        for job in jobs {
            table.add(
                "\(job.id)",
                job.kind,
                job.queue,
                job.state,
                job.rowsDone > 0 ? grouped(job.rowsDone) : "",
                job.percent.map { "\($0)" } ?? "",
                job.rate.map { grouped(Int64($0)) } ?? "",
                job.seconds.map { Duration.seconds($0).shown } ?? "",
                job.state == "completed"
                    ? "" : job.waiting ?? String((job.lastError ?? "").prefix(60))
            )
        }
        try terminal.result(table.text)
    }
}
