internal import Postgres

/// A table that a statement speaks of, and the name by which it does.
struct TableUse: Equatable {
    /// Where it stands among the statement's tokens.
    let index: Int
    /// As it is written.
    let written: String
    private let parts: [String]
    private let range: Range<Int>
    /// The name for its columns, as SQL.
    let alias: String

    /// All places where a table may be named.
    static func all(in statement: SQLStatement) -> [TableUse] {
        statement.tokens.indices.dropFirst().compactMap { TableUse(statement, at: $0) }
    }

    private init?(_ statement: SQLStatement, at index: Int) {
        let tokens = statement.tokens
        let before = tokens[index - 1]
        let isNamed = Self.introductions.contains { before.isWord($0) } || before.isSymbol(",")
        guard isNamed, !Self.introductions.contains(where: { tokens[index].isWord($0) }),
            let name = QualifiedName(tokens[index...])
        else { return nil }
        self.index = index
        parts = name.parts
        range = tokens[index].range.lowerBound..<name.end
        written = String(decoding: Array(statement.text.utf8)[range], as: UTF8.self)
        var rest = tokens[(index + name.count)...]
        if rest.first?.isSymbol("*") == true { rest.removeFirst() }
        alias = quoted(identifier: Self.alias(rest) ?? name.parts.last ?? "")
    }

    /// Whether it is the table that is written so elsewhere; a name without a schema may stand for one with.
    func isOf(_ table: String) -> Bool {
        let tokens: [SQLToken]
        do { tokens = try SQLLexer.tokens(table) } catch { return false }
        guard let name = QualifiedName(tokens[...]) else { return false }
        return parts.last == name.parts.last
            && (parts.count == 1 || name.parts.count == 1 || parts == name.parts)
    }

    /// A text that begins like the statement, with another table in this place.
    func replaced(in text: String, by other: String) -> String {
        var bytes = Array(text.utf8)
        bytes.replaceSubrange(range, with: other.utf8)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func alias(_ rest: ArraySlice<SQLToken>) -> String? {
        if rest.first?.isWord("as") == true { return rest.dropFirst().first?.name }
        guard let name = rest.first?.name else { return nil }
        if case .word = rest.first?.kind, followers.contains(name) { return nil }
        return name
    }

    private static let introductions = ["update", "only", "from", "join", "into", "using"]

    /// Words that follow a table's name and are no alias.
    private static let followers: Set<String> = [
        "set", "where", "join", "on", "using", "left", "right", "inner", "outer", "full", "cross",
        "natural",
        "order", "group", "having", "limit", "offset", "fetch", "returning", "for", "union",
        "except", "intersect",
        "tablesample", "window", "select", "values", "default", "overriding", "lateral", "with",
        "from",
    ]
}
