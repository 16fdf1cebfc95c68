/// One statement of a migration, without the semicolon that ends it.
package struct SQLStatement: Sendable, Equatable {
    /// The text from its first to its last token.
    package let text: String
    /// The line of the file on which it begins, from 1.
    package let line: Int
    let tokens: [SQLToken]

    /// Wraps text that the lexer has been through; the tokens have their places in the text itself.
    init(_ text: String, line: Int, tokens: [SQLToken]) {
        self.text = text
        self.line = line
        self.tokens = tokens
    }

    /// Whether it begins with these key words.
    func begins(with words: String...) -> Bool {
        tokens.count >= words.count && zip(tokens, words).allSatisfy { $0.isWord($1) }
    }

    /// Whether these key words follow one another anywhere.
    func contains(_ words: String...) -> Bool {
        tokens.indices.contains { start in
            start + words.count <= tokens.count
                && zip(tokens[start...], words).allSatisfy { $0.isWord($1) }
        }
    }

    /// The text of a token.
    func text(of token: SQLToken) -> String {
        String(decoding: Array(text.utf8)[token.range], as: UTF8.self)
    }

    /// The text with a stretch of bytes replaced.
    func replacing(_ range: Range<Int>, with replacement: String) -> String {
        var bytes = Array(text.utf8)
        bytes.replaceSubrange(range, with: replacement.utf8)
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension SQLStatement {
    /// Begins, ends or takes back a whole transaction.
    var controlsTransaction: Bool {
        opensTransaction || commits || begins(with: "abort")
            || begins(with: "prepare", "transaction")
            || (begins(with: "rollback") && !contains("to"))
    }

    var opensTransaction: Bool { begins(with: "begin") || begins(with: "start", "transaction") }

    var commits: Bool { begins(with: "commit") || begins(with: "end") }

    /// Whether the server runs it only outside a transaction block.
    package var refusesTransaction: Bool {
        switch tokens.first?.name {
        case "vacuum": true
        case "create", "drop":
            contains("index", "concurrently")
                || ["database", "tablespace", "subscription"].contains(
                    tokens.dropFirst().first?.name
                )
        case "alter":
            begins(with: "alter", "system")
                || (begins(with: "alter", "table") && contains("detach")
                    && contains("concurrently"))
                || (begins(with: "alter", "database") && contains("set", "tablespace"))
        case "reindex":
            contains("concurrently") || contains("database") || contains("system")
                || contains("schema")
        case "cluster": tokens.count == 1
        default: false
        }
    }
}
