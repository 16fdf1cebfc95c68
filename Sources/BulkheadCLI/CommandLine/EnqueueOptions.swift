internal import Bulkhead
internal import FoundationEssentials
internal import Postgres

/// What the options of an enqueuing verb say about the job.
struct EnqueueOptions {
    private let queue: String
    private let priority: Int
    private let runAt: String?
    private let runIn: String?
    private let maxAttempts: Int
    private let uniqueKey: String?
    private let tags: [String]?
    private let host: String?
    private let limits: JSONText?

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
        limits = try LimitOptions(arguments).json
    }

    /// The options as arguments of a function that enqueues.
    var sql: SQL {
        """
        queue => \(queue), priority => \(priority), run_at => \(runAt), run_in => \(runIn),
            max_attempts => \(maxAttempts), unique_key => \(uniqueKey), tags => \(tags), host => \(host),
            limits => \(limits)
        """
    }
}
