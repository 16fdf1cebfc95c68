internal import FoundationEssentials
internal import Postgres

/// What the options of an enqueuing verb say about the job.
struct EnqueueOptions {
    let queue: String
    let priority: Int
    let runAt: String?
    let runIn: String?
    let maxAttempts: Int
    let uniqueKey: String?
    let tags: [String]?
    let host: String?

    init(_ arguments: Arguments) throws {
        queue = arguments.text("--queue") ?? "default"
        priority = try arguments.number("--priority", in: Int(Int32.min)...Int(Int32.max)) ?? 0
        runAt = arguments.text("--run-at")
        runIn = arguments.text("--in")
        if runAt != nil, runIn != nil { throw UsageError("give --run-at or --in, not both") }
        maxAttempts = try arguments.number("--max-attempts", in: 1...Int(Int32.max)) ?? 20
        uniqueKey = arguments.text("--unique")
        tags = arguments.texts("--tag")
        host = arguments.has("--any-host") ? nil : ProcessInfo.processInfo.hostName
    }

    /// The options as arguments of a function that enqueues.
    var sql: SQL {
        """
        queue => \(queue), priority => \(priority), run_at => \(runAt), run_in => \(runIn),
            max_attempts => \(maxAttempts), unique_key => \(uniqueKey), tags => \(tags), host => \(host)
        """
    }
}
