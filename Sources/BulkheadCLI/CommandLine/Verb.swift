/// One verb of the command line.
protocol Verb: SendableMetatype {
    static var name: String { get }
    static var summary: String { get }
    /// What follows the name, as the help shows it.
    static var synopsis: String { get }
    static var options: [Option] { get }
    /// A command that works, with what it does.
    static var example: String { get }

    /// Does it.
    ///
    /// - Returns: The exit status.
    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus
}

/// How the program ends.
enum ExitStatus: Int32 {
    case done = 0
    case failed = 1
    case usage = 2
    case noDatabase = 3
    case interrupted = 130
}

extension Verb {
    /// The verb's help.
    static var help: String {
        let usage = [name, synopsis].filter { !$0.isEmpty }.joined(separator: " ")
        var text = "\(summary)\n\nusage: bulkhead \(usage)\n\noptions:\n"
        for option in options + Option.common {
            let left =
                option.name + (option.value.map { " \($0)" } ?? "") + (option.repeats ? "..." : "")
            text += "  \(left.padded(to: 26))\(option.help)\n"
        }
        return text + "\nexample:\n" + example.split(separator: "\n").map { "  \($0)\n" }.joined()
    }
}

extension String {
    /// The text with blanks behind it, at least one.
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(1, width - count))
    }
}
