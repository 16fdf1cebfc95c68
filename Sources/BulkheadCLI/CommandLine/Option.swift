/// An option of a verb.
struct Option: Sendable {
    /// The name with its dashes.
    let name: String
    /// What stands for its value in the help; nil for a flag.
    let value: String?
    let help: String
    let repeats: Bool

    /// An option without a value.
    static func flag(_ name: String, _ help: String) -> Option {
        Option(name: name, value: nil, help: help, repeats: false)
    }

    /// An option with a value.
    static func value(_ name: String, _ value: String, _ help: String, repeats: Bool = false)
        -> Option
    {
        Option(name: name, value: value, help: help, repeats: repeats)
    }

    /// The options of every verb.
    static let common: [Option] = [
        .value("--database", "URL", "the database; else BULKHEAD_DATABASE_URL, DATABASE_URL, PG*"),
        .flag("--json", "print JSON"),
        .flag("--quiet", "print only results and errors"),
        .flag("--help", "print this"),
        .flag("--version", "print the version"),
    ]

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
