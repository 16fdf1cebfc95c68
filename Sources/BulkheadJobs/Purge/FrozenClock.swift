internal import Postgres

/// The moment at which a purge began, in place of the clock in its condition.
struct FrozenClock {
    /// A moment, as the server writes it in UTC.
    private let moment: String

    /// What looks at the clock, and what a moment in its place is.
    private static let keywords: [String: @Sendable (String) -> String] = [
        "current_date": { "('\($0)'::timestamp with time zone)::date" },
        "current_time": { "('\($0)'::timestamp with time zone)::time with time zone" },
        "current_timestamp": { "'\($0)'::timestamp with time zone" },
        "localtime": { "('\($0)'::timestamp with time zone)::time without time zone" },
        "localtimestamp": { "('\($0)'::timestamp with time zone)::timestamp without time zone" },
    ]
    private static let functions: Set<String> = [
        "now", "transaction_timestamp", "statement_timestamp",
    ]

    init(_ connection: Connection) throws {
        moment = try connection.query("select pg_catalog.now()::text").required(0, 0)
    }

    /// Puts the moment in the place of every look at the clock.
    ///
    /// The text is the server's own: the names of pg_catalog bare, all others in full.
    ///
    /// - Throws: `SQLFlaw` for text that is no SQL.
    func freeze(_ text: String) throws(SQLFlaw) -> String {
        let lexer = SQLLexer(text)
        var rest = try SQLLexer.tokens(text)[...]
        var frozen = ""
        var done = 0
        var isQualified = false
        while let token = rest.first {
            let look = isQualified ? nil : look(at: rest, lexer)
            if let look {
                frozen += lexer.text(done..<token.range.lowerBound) + look.replacement
                done = look.end
            }
            isQualified = token.isSymbol(".")
            rest = rest.dropFirst(look?.count ?? 1)
        }
        return frozen + lexer.text(done..<text.utf8.count)
    }

    /// A look at the clock: what stands in its place, the tokens that it takes, and where it ends.
    private typealias Look = (replacement: String, count: Int, end: Int)

    private func look(at tokens: ArraySlice<SQLToken>, _ lexer: SQLLexer) -> Look? {
        guard let first = tokens.first, case .word(let word) = first.kind else { return nil }
        let next = Array(tokens.dropFirst().prefix(3))
        let opens = next.first?.isSymbol("(") == true
        if let write = Self.keywords[word] {
            guard opens, next.count == 3, next[1].kind == .number, next[2].isSymbol(")") else {
                return (write(moment), 1, first.range.upperBound)
            }
            // CURRENT_TIMESTAMP(3) is cut to milliseconds.
            let precision = lexer.text(next[0].range.lowerBound..<next[2].range.upperBound)
            return (cut(write(moment), to: precision), 4, next[2].range.upperBound)
        }
        if Self.functions.contains(word), opens, next.dropFirst().first?.isSymbol(")") == true {
            return ("'\(moment)'::timestamp with time zone", 3, next[1].range.upperBound)
        }
        // The age of a moment is its distance from the present day.
        if word == "age", opens, takesOneArgument(tokens.dropFirst()) {
            let day = "age(('\(moment)'::timestamp with time zone)::date, "
            return (day, 2, next[0].range.upperBound)
        }
        return nil
    }

    /// Whether what stands in the parentheses at the start is one argument.
    private func takesOneArgument(_ tokens: ArraySlice<SQLToken>) -> Bool {
        var depth = 0
        for token in tokens {
            if token.isSymbol("(") || token.isSymbol("[") { depth += 1 }
            if token.isSymbol(")") || token.isSymbol("]") { depth -= 1 }
            if depth == 0 { return true }
            if depth == 1, token.isSymbol(",") { return false }
        }
        return false
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
