/// A table that a statement locks, as far as its words tell.
package struct LockTarget: Sendable, Hashable {
    /// The table as it is written; for `DROP INDEX` the index, whose table is locked.
    package let name: String
    package let mode: LockMode
    /// Whether the tables that inherit from it are left out.
    let isOnly: Bool
}

/// A lock mode of tables, from the weakest that matters here to the strongest.
package enum LockMode: String, Sendable, Comparable, CaseIterable {
    case rowExclusive = "row exclusive"
    case shareUpdateExclusive = "share update exclusive"
    case share
    case shareRowExclusive = "share row exclusive"
    case accessExclusive = "access exclusive"

    package static func < (left: LockMode, right: LockMode) -> Bool {
        (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
    }
}

extension SQLStatement {
    /// The tables that it locks, as far as its words tell; a table may be named more than once.
    package var lockTargets: [LockTarget] {
        var words = TokenWalk(self)
        switch words.word() {
        case "alter": return alterTargets(words)
        case "create": return createTargets(words)
        case "drop": return dropTargets(words)
        case "truncate":
            words.skip("table")
            return words.names(.accessExclusive)
        case "comment":
            guard words.skip("on"), words.skip("table") else { return [] }
            return words.names(.shareUpdateExclusive, most: 1)
        case "insert":
            guard words.skip("into") else { return [] }
            return words.names(.rowExclusive, most: 1)
        case "delete":
            guard words.skip("from") else { return [] }
            return words.names(.rowExclusive, most: 1)
        case "update": return words.names(.rowExclusive, most: 1)
        default: return []
        }
    }

    private func alterTargets(_ start: TokenWalk) -> [LockTarget] {
        var words = start
        guard words.skip("table") else { return [] }
        return words.names(alterMode, most: 1) + referenced + attached
    }

    /// ALTER TABLE takes the strongest lock that one of its parts needs; what is not known takes them all.
    private var alterMode: LockMode {
        let parts = topLevelParts
        return parts.map(\.alterMode).max() ?? .accessExclusive
    }

    /// A foreign key locks the table that it refers to as well.
    private var referenced: [LockTarget] {
        tokens.indices.filter { tokens[$0].isWord("references") }.flatMap { index in
            var words = TokenWalk(self, from: index + 1)
            return words.names(.shareRowExclusive, most: 1)
        }
    }

    private var attached: [LockTarget] {
        tokens.indices.dropLast().filter {
            tokens[$0].isWord("partition")
                && (tokens[$0 - 1].isWord("attach") || tokens[$0 - 1].isWord("detach"))
        }.flatMap { index in
            var words = TokenWalk(self, from: index + 1)
            return words.names(.accessExclusive, most: 1)
        }
    }

    private func createTargets(_ start: TokenWalk) -> [LockTarget] {
        var words = start
        words.skip("or")
        words.skip("replace")
        words.skip("unique")
        words.skip("constraint")
        switch words.word() {
        case "index": return named(after: "on", .share)
        case "trigger": return named(after: "on", .shareRowExclusive)
        case "policy": return named(after: "on", .accessExclusive)
        case "table": return referenced + named(after: "of", .accessExclusive)
        default: return []
        }
    }

    private func dropTargets(_ start: TokenWalk) -> [LockTarget] {
        var words = start
        switch words.word() {
        case "table", "index": return words.names(.accessExclusive)
        case "trigger", "policy", "rule": return named(after: "on", .accessExclusive)
        default: return []
        }
    }

    private func named(after word: String, _ mode: LockMode) -> [LockTarget] {
        guard let index = tokens.firstIndex(where: { $0.isWord(word) }) else { return [] }
        var words = TokenWalk(self, from: index + 1)
        return words.names(mode, most: 1)
    }

    /// The statement's parts between commas that stand in no parentheses.
    private var topLevelParts: [ArraySlice<SQLToken>] {
        var depth = 0
        return tokens.split { token in
            if token.isSymbol("(") { depth += 1 }
            if token.isSymbol(")") { depth -= 1 }
            return depth == 0 && token.isSymbol(",")
        }
    }
}

extension ArraySlice<SQLToken> {
    /// What a part of an ALTER TABLE needs.
    fileprivate var alterMode: LockMode {
        if has("validate", "constraint") || has("attach", "partition") || has("set", "statistics")
            || has("cluster", "on")
        {
            return .shareUpdateExclusive
        }
        if has("add"), has("foreign", "key") { return .shareRowExclusive }
        if has("enable", "trigger") || has("disable", "trigger") { return .shareRowExclusive }
        return .accessExclusive
    }

    private func has(_ words: String...) -> Bool {
        indices.contains { start in
            start + words.count <= endIndex
                && zip(self[start...], words).allSatisfy { $0.isWord($1) }
        }
    }
}

/// Goes through a statement's tokens from the left.
private struct TokenWalk {
    private let statement: SQLStatement
    private var rest: ArraySlice<SQLToken>

    init(_ statement: SQLStatement, from start: Int = 0) {
        self.statement = statement
        rest = statement.tokens.dropFirst(start)
    }

    mutating func word() -> String? { rest.popFirst()?.name }

    @discardableResult
    mutating func skip(_ word: String) -> Bool {
        guard rest.first?.isWord(word) == true else { return false }
        rest.removeFirst()
        return true
    }

    /// Names of tables with commas between them.
    mutating func names(_ mode: LockMode, most: Int = .max) -> [LockTarget] {
        skip("concurrently")
        if skip("if") {
            skip("not")
            skip("exists")
        }
        var targets: [LockTarget] = []
        while targets.count < most {
            let isOnly = skip("only")
            guard let start = rest.first, let name = QualifiedName(rest) else { break }
            let range = start.range.lowerBound..<name.end
            targets.append(
                LockTarget(
                    name: String(decoding: Array(statement.text.utf8)[range], as: UTF8.self),
                    mode: mode,
                    isOnly: isOnly
                )
            )
            rest = rest.dropFirst(name.count)
            if rest.first?.isSymbol("*") == true { rest.removeFirst() }
            guard rest.first?.isSymbol(",") == true else { break }
            rest.removeFirst()
        }
        return targets
    }
}
