internal import Postgres

/// The moment at which a purge began, in place of the clock in its condition.
struct FrozenClock {
    /// A moment, as the server writes it in UTC.
    private let moment: String

    /// What looks at the clock, as the server writes it, and what a moment in its place is.
    private static let keywords: [String: @Sendable (String) -> String] = [
        "CURRENT_DATE": { "('\($0)'::timestamp with time zone)::date" },
        "CURRENT_TIME": { "('\($0)'::timestamp with time zone)::time with time zone" },
        "CURRENT_TIMESTAMP": { "'\($0)'::timestamp with time zone" },
        "LOCALTIME": { "('\($0)'::timestamp with time zone)::time without time zone" },
        "LOCALTIMESTAMP": { "('\($0)'::timestamp with time zone)::timestamp without time zone" },
    ]
    private static let functions: Set<String> = [
        "now", "transaction_timestamp", "statement_timestamp",
    ]

    init(_ connection: Connection) throws {
        moment = try connection.query("select pg_catalog.now()::text").required(0, 0)
    }

    /// Puts the moment in the place of every look at the clock.
    ///
    /// The text is the server's own: keywords in capitals, the names of pg_catalog bare, all others in
    /// full.
    func freeze(_ text: String) -> String {
        var scanner = SQLScanner(text)
        var frozen = ""
        var isQualified = false
        while let token = scanner.next() {
            switch token {
            case .word(let word) where !isQualified:
                frozen += frozenWord(word, &scanner)
            case .word(let text), .other(let text):
                frozen += text
            }
            isQualified = frozen.last == "."
        }
        return frozen
    }

    private func frozenWord(_ word: String, _ scanner: inout SQLScanner) -> String {
        if let write = Self.keywords[word] {
            // CURRENT_TIMESTAMP(3) is cut to milliseconds.
            let precision = scanner.skipParenthesised()
            return precision.map { cut(write(moment), to: $0) } ?? write(moment)
        }
        if Self.functions.contains(word) {
            return scanner.skip("()") ? "'\(moment)'::timestamp with time zone" : word
        }
        // The age of a moment is its distance from the present day.
        if word == "age", scanner.takesOneArgument(), scanner.skip("(") {
            return "age(('\(moment)'::timestamp with time zone)::date, "
        }
        return word
    }

    private func cut(_ text: String, to precision: String) -> String {
        // The replaced text ends with the name of the type.
        for (type, cut) in [
            ("timestamp with time zone", "timestamp\(precision) with time zone"),
            ("timestamp without time zone", "timestamp\(precision) without time zone"),
            ("time with time zone", "time\(precision) with time zone"),
            ("time without time zone", "time\(precision) without time zone"),
        ] where text.hasSuffix("::\(type)") {
            return text.dropLast(type.count) + cut
        }
        return text
    }
}
