/// Splits SQL into statements where psql would.
package struct StatementSplitter {
    /// A part of the text.
    enum Piece {
        case statement(SQLStatement)
        /// A line comment that stands between statements, or ends one.
        case comment(String, line: Int, isInsideStatement: Bool)
    }

    private var lexer: SQLLexer
    private let endsStatement: (String) -> Bool
    private var pieces: [Piece] = []
    private var pending: [SQLToken] = []
    private var parentheses: [Int] = []
    /// How deep the body of an SQL function is nested: BEGIN ATOMIC opens it, CASE nests, END closes.
    private var bodyDepth = 0

    private init(_ text: String, endsStatement: @escaping (String) -> Bool) {
        lexer = SQLLexer(text)
        self.endsStatement = endsStatement
    }

    /// The statements of a text.
    package static func statements(_ text: String) throws -> [SQLStatement] {
        try pieces(text).compactMap { piece in
            if case .statement(let statement) = piece { statement } else { nil }
        }
    }

    /// The statements, and the line comments between them; a comment inside a statement can be told to end it.
    ///
    /// It throws `SQLFlaw` where the text cannot be split, or holds what only psql can do.
    static func pieces(
        _ text: String,
        endsStatement: @escaping (String) -> Bool = { _ in false }
    ) throws(SQLFlaw) -> [Piece] {
        var splitter = StatementSplitter(text, endsStatement: endsStatement)
        return try splitter.split()
    }

    private mutating func split() throws(SQLFlaw) -> [Piece] {
        while let token = try lexer.next() {
            switch token.kind {
            case .blockComment: break
            case .lineComment: try comment(token)
            case .symbol(UInt8(ascii: ";")) where parentheses.isEmpty && bodyDepth == 0:
                try endStatement()
            default:
                try refuseMetaCommand(token)
                note(token)
                pending.append(token)
            }
        }
        try endStatement()
        return pieces
    }

    private mutating func comment(_ token: SQLToken) throws(SQLFlaw) {
        let text = String(lexer.text(token.range).dropFirst(2))
        let isInside = !pending.isEmpty
        guard !isInside || endsStatement(text) else { return }
        if isInside { try endStatement() }
        pieces.append(.comment(text, line: token.line, isInsideStatement: isInside))
    }

    private mutating func note(_ token: SQLToken) {
        if token.isSymbol("(") {
            parentheses.append(token.line)
        } else if token.isSymbol(")") {
            parentheses = parentheses.dropLast()
        } else if token.isWord("atomic"), pending.last?.isWord("begin") == true, createsRoutine {
            bodyDepth = 1
        } else if bodyDepth > 0, token.isWord("case") {
            bodyDepth += 1
        } else if bodyDepth > 0, token.isWord("end") {
            bodyDepth -= 1
        }
    }

    private var createsRoutine: Bool {
        var words = pending.prefix(4).compactMap(\.name)[...]
        guard words.popFirst() == "create" else { return false }
        if words.starts(with: ["or", "replace"]) { words = words.dropFirst(2) }
        return words.first == "function" || words.first == "procedure"
    }

    private mutating func endStatement() throws(SQLFlaw) {
        guard let first = pending.first, let last = pending.last else { return }
        if let line = parentheses.last {
            throw SQLFlaw(message: "the parenthesis is not closed", line: line)
        }
        if bodyDepth > 0 {
            throw SQLFlaw(message: "the body that BEGIN ATOMIC opens has no END", line: first.line)
        }
        let start = first.range.lowerBound
        let statement = SQLStatement(
            lexer.text(start..<last.range.upperBound),
            line: first.line,
            tokens: pending.map { token in
                SQLToken(
                    kind: token.kind,
                    range: (token.range.lowerBound - start)..<(token.range.upperBound - start),
                    line: token.line
                )
            }
        )
        pending = []
        if statement.begins(with: "copy"), statement.contains("from", "stdin") {
            throw SQLFlaw(
                message:
                    "COPY FROM STDIN reads rows from the script itself: load them by bulkhead import, or "
                    + "write them as INSERT",
                line: first.line
            )
        }
        pieces.append(.statement(statement))
    }

    private func refuseMetaCommand(_ token: SQLToken) throws(SQLFlaw) {
        guard token.isSymbol("\\") else { return }
        throw SQLFlaw(
            message:
                "a backslash outside quotes is a command of psql, which the server does not know: take it out",
            line: token.line
        )
    }
}
