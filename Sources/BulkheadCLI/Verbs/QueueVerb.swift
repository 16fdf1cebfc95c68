internal import Bulkhead
internal import Postgres

/// Pauses, resumes or limits a queue.
enum QueueVerb: Verb {
    static let name = "queue"
    static let summary =
        "Pause or resume a queue, or limit its jobs: how many run at once, and what they heed"
    static let synopsis = "pause NAME | resume NAME | limit NAME [N|none] [options]"
    static let options = LimitOptions.options
    static let example = "bulkhead queue limit nightly 2"

    /// What is done to a queue, and what is said of it then.
    private struct Change {
        let call: SQL
        let queue: String
        let note: String
    }

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        let change = try change(arguments.operands, LimitOptions(arguments).json)
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

    private static func change(_ words: [String], _ limits: JSONText?) throws -> Change {
        let action = words.first ?? ""
        guard ["pause", "resume", "limit"].contains(action) else {
            throw UsageError("queue takes pause, resume or limit, not \"\(action)\"")
        }
        guard words.count == 2 || (action == "limit" && words.count == 3) else {
            throw UsageError("write queue \(action) NAME\(action == "limit" ? " N" : "")")
        }
        let name = words[1]
        switch action {
        case "limit":
            return try limit(name, words.dropFirst(2).first, limits)
        case _ where limits != nil:
            throw UsageError("queue \(action) takes no limits: write queue limit NAME")
        case "pause":
            return Change(
                call: "bulkhead.pause_queue(\(name))",
                queue: name,
                note: "queue \(name) is paused; what runs goes on to its end"
            )
        default:
            return Change(
                call: "bulkhead.resume_queue(\(name))",
                queue: name,
                note: "queue \(name) is open"
            )
        }
    }

    private static func limit(_ name: String, _ word: String?, _ limits: JSONText?) throws -> Change
    {
        var calls: [SQL] = []
        var notes: [String] = []
        if let word {
            let number = try number(word)
            calls.append("bulkhead.limit_queue(\(name), \(number))")
            notes.append(
                number.map { "queue \(name) runs at most \($0) jobs at once" }
                    ?? "queue \(name) has no limit"
            )
        }
        if let limits {
            calls.append("bulkhead.limit_queue_jobs(\(name), \(limits))")
            notes.append("the jobs of queue \(name) heed its new limits, or will in a moment")
        }
        guard let first = calls.first else {
            throw UsageError("write queue limit NAME N, or an option that says what to change")
        }
        return Change(
            call: calls.dropFirst().reduce(first) { "\($0), \($1)" },
            queue: name,
            note: notes.joined(separator: "\n")
        )
    }

    private static func number(_ word: String) throws -> Int32? {
        if word == "none" { return nil }
        guard let limit = Int32(word), limit > 0 else {
            throw UsageError("the limit is a number from 1 up, or none, not \(word)")
        }
        return limit
    }
}
