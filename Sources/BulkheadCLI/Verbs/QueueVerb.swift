internal import Postgres

/// Pauses, resumes or limits a queue.
enum QueueVerb: Verb {
    static let name = "queue"
    static let summary = "Pause or resume a queue, or limit how many of its jobs run at once"
    static let synopsis = "pause NAME | resume NAME | limit NAME N|none"
    static let options: [Option] = []
    static let example = "bulkhead queue limit nightly 2"

    /// What is done to a queue, and what is said of it then.
    private struct Change {
        let call: SQL
        let queue: String
        let note: String
    }

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        let change = try change(arguments.operands)
        return try await Database.use(arguments) { connection in
            do {
                try connection.transaction { try make(change, $0, terminal) }
                return .done
            } catch let error as PostgresError where error.state?.rawValue == "22023" {
                throw UsageError(error.message)
            }
        }
    }

    private static func make(
        _ change: Change,
        _ connection: Connection,
        _ terminal: Terminal
    ) throws {
        try connection.query("select \(change.call)")
        let row = try connection.query(
            """
            select to_jsonb(q)::text,
                daemons + running + available + scheduled + retryable + paused_jobs + blocked > 0
            from bulkhead.queue_status q where name = \(change.queue)
            """
        )
        if terminal.printsJSON {
            return try terminal.result(try row.required(0, 0, as: String.self))
        }
        terminal.note(change.note)
        if try !row.required(0, 1, as: Bool.self) {
            terminal.note("queue \(change.queue) has no jobs so far, and no daemon serves it")
        }
    }

    private static func change(_ words: [String]) throws -> Change {
        let action = words.first ?? ""
        guard ["pause", "resume", "limit"].contains(action) else {
            throw UsageError("queue takes pause, resume or limit, not \"\(action)\"")
        }
        guard words.count == (action == "limit" ? 3 : 2) else {
            throw UsageError("write queue \(action) NAME\(action == "limit" ? " N" : "")")
        }
        let name = words[1]
        switch action {
        case "pause":
            return Change(
                call: "bulkhead.pause_queue(\(name))",
                queue: name,
                note: "queue \(name) is paused; what runs goes on to its end"
            )
        case "resume":
            return Change(
                call: "bulkhead.resume_queue(\(name))",
                queue: name,
                note: "queue \(name) is open"
            )
        default:
            let limit = try limit(words[2])
            return Change(
                call: "bulkhead.limit_queue(\(name), \(limit))",
                queue: name,
                note: limit.map { "queue \(name) runs at most \($0) jobs at once" }
                    ?? "queue \(name) has no limit"
            )
        }
    }

    private static func limit(_ word: String) throws -> Int32? {
        if word == "none" { return nil }
        guard let limit = Int32(word), limit > 0 else {
            throw UsageError("the limit is a number from 1 up, or none, not \(word)")
        }
        return limit
    }
}
