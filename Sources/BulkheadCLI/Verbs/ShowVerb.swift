internal import Bulkhead
internal import Postgres

/// Shows one job.
enum ShowVerb: Verb {
    static let name = "show"
    static let summary = "Show a job: what it does, how far it is, and what went wrong"
    static let synopsis = "ID"
    static let options: [Option] = []
    static let example = "bulkhead show 42"

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        let ids = try arguments.jobs()
        guard ids.count == 1 else { throw UsageError("show takes one id") }
        return try await Database.use(arguments) { connection in
            let job = try JobStatus.find(ids[0], connection)
            if terminal.printsJSON {
                try terminal.result(try document(ids[0], connection).text)
            } else {
                try terminal.result(try text(job, connection))
            }
            return .done
        }
    }

    private static func document(_ id: Int64, _ connection: Connection) throws -> JSONText {
        try connection.transaction { connection in
            let row = try connection.query(
                """
                select (to_jsonb(s) || jsonb_build_object('errors', (
                    select coalesce(jsonb_agg(to_jsonb(e) order by e.id), '[]')
                    from bulkhead.job_error e where e.job = s.id)))::text
                from bulkhead.job_status s where s.id = \(id)
                """
            )
            guard !row.isEmpty else { throw UnknownJob(id: id) }
            return JSONText(try row.required(0, 0))
        }
    }

    private static func text(_ job: JobStatus, _ connection: Connection) throws -> String {
        var lines = ["job \(job.id): \(job.kind), \(job.state)"]
        // Of a migration's files only the names: their texts are where they were typed.
        let arguments: SQL = """
            (case when kind = 'migration' and jsonb_typeof(args -> 'files') = 'array' then jsonb_set(args, '{files}',
                (select jsonb_agg(f -> 'name') from jsonb_array_elements(args -> 'files') as f)) else args end)
            """
        try connection.transaction { connection in
            let row = try connection.query(
                """
                select \(arguments)::text, queue, priority, attempt || ' of ' || max_attempts, host, batches, enqueued_by,
                    date_trunc('second', created_at)::text, date_trunc('second', started_at)::text,
                    date_trunc('second', finished_at)::text, date_trunc('second', run_at)::text, tags::text, unique_key,
                    (select string_agg(key || ' ' || value, ', ' order by key) from jsonb_each_text(limits)),
                    array_to_string(unheeded, '; ')
                from bulkhead.job_status where id = \(job.id)
                """
            )
            guard !row.isEmpty else { throw UnknownJob(id: job.id) }
            let names = [
                "args", "queue", "priority", "attempt", "host", "batches", "enqueued by", "created",
                "started", "finished", "due", "tags", "unique key", "limits", "not heeded",
            ]
            for (column, name) in names.enumerated() {
                guard let value = try row.value(0, column, as: String.self) else { continue }
                if name == "due", job.state != "scheduled", job.state != "retryable" { continue }
                lines.append("  \(name.padded(to: 14))\(value)")
            }
        }
        lines.append("  \("progress".padded(to: 14))\(progress(job))")
        if job.result != nil || job.isFinished {
            lines.append("  \("result".padded(to: 14))\(job.summary)")
        }
        return (lines + (try errors(job.id, connection))).joined(separator: "\n")
    }

    private static func progress(_ job: JobStatus) -> String {
        var parts = ["\(grouped(job.rowsDone)) rows"]
        if let percent = job.percent { parts.append("\(percent)%") }
        if let rate = job.rate { parts.append("\(grouped(Int64(rate))) rows/s") }
        if let left = job.secondsLeft { parts.append("\(Duration.seconds(left).shown) left") }
        if let waiting = job.waiting { parts.append(waiting) }
        return parts.joined(separator: ", ")
    }

    private static func errors(_ id: Int64, _ connection: Connection) throws -> [String] {
        try connection.transaction { connection in
            let rows = try connection.query(
                """
                select attempt, at::text, message, position, sqlstate from bulkhead.job_error
                where job = \(id) order by id desc limit 5
                """
            )
            return try (0..<rows.count).map { row in
                let attempt = try rows.required(row, 0, as: Int32.self)
                let message: String = try rows.required(row, 2)
                let state = try rows.value(row, 4, as: String.self).map { " [\($0)]" } ?? ""
                return "  \("error".padded(to: 14))attempt \(attempt): \(message)\(state)"
            }
        }
    }
}
