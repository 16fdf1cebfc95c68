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
}
