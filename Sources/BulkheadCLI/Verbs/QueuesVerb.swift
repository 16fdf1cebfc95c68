internal import Postgres

/// Lists queues.
enum QueuesVerb: Verb {
    static let name = "queues"
    static let summary = "List queues with their jobs, limits and daemons"
    static let synopsis = ""
    static let options: [Option] = []
    static let example = "bulkhead queues"

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        guard arguments.operands.isEmpty else {
            throw UsageError(
                "queues takes no \(arguments.operands[0]); `bulkhead queue` steers one queue"
            )
        }
        return try await Database.use(arguments) { connection in
            try connection.transaction { try list($0, terminal) }
            return .done
        }
    }

    private static func list(_ connection: Connection, _ terminal: Terminal) throws {
        let rows = try connection.query(
            """
            select name, case when paused then 'paused' else 'open' end,
                coalesce(max_running::text, ''), running::text, available::text,
                (scheduled + retryable)::text, paused_jobs::text, blocked::text, daemons::text,
                to_jsonb(q)::text
            from bulkhead.queue_status q order by name
            """
        )
        try TextTable.print(
            rows,
            [
                "QUEUE", "STATE", "LIMIT", "RUNNING", "AVAILABLE", "LATER", "PAUSED", "BLOCKED",
                "DAEMONS",
            ],
            nothing: "no queues: none has a job, and no daemon is alive",
            terminal
        )
    }
}
