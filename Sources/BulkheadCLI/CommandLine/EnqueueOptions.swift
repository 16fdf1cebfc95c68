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

    /// Reads them; a job that needs no files may run anywhere.
    init(_ arguments: Arguments, anyHost: Bool = false) throws {
        queue = arguments.text("--queue") ?? "default"
        priority = try arguments.number("--priority", in: Int(Int32.min)...Int(Int32.max)) ?? 0
        runAt = arguments.text("--run-at")
        runIn = arguments.text("--in")
        if runAt != nil, runIn != nil { throw UsageError("give --run-at or --in, not both") }
        maxAttempts = try arguments.number("--max-attempts", in: 1...Int(Int32.max)) ?? 20
        uniqueKey = arguments.text("--unique")
        tags = arguments.texts("--tag")
        host = anyHost || arguments.has("--any-host") ? nil : ProcessInfo.processInfo.hostName
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

extension Option {
    /// The options of every verb that adds a job.
    static let enqueue: [Option] =
        [
            .value("--queue", "Q", "the queue (default)"),
            .value("--priority", "N", "lower runs first (0)"),
            .value("--run-at", "TIME", "not before this time, as PostgreSQL reads it"),
            .value("--in", "INTERVAL", "not before this long from now, such as '10 minutes'"),
            .value("--max-attempts", "N", "tries without progress before the job is given up (20)"),
            .value(
                "--unique",
                "KEY",
                "if an unfinished job of the kind has this key, print its id instead"
            ),
            .value("--tag", "T", "a tag for people", repeats: true),
            .flag("--any-host", "daemons of any host may run it, not only of this one"),
            .flag("--wait", "show progress, and exit by the job's end"),
        ] + LimitOptions.options
}
