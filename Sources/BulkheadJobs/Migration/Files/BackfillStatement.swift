internal import Bulkhead
internal import Postgres

/// The statement of a backfill: whose rows it walks, whose it changes, and how it tells their keys.
struct BackfillStatement {
    let statement: SQLStatement
    /// The name under which it speaks of the table that is walked, as SQL.
    let alias: String
    let operation: Batch.Operation
    /// The table that it changes, as it is written, and the name under which it speaks of it.
    let target: TableUse
    /// Whether it can stand in a WITH, so that the keys of the rows come back from it.
    let canReturnKeys: Bool
    private let place: BatchPlace

    /// - Throws: `SQLFlaw` when it does not speak of the table.
    init(_ statement: SQLStatement, walking table: String) throws(SQLFlaw) {
        self.statement = statement
        place = try BatchPlace(statement)
        guard let verb = Self.verb(of: statement) else {
            throw SQLFlaw(
                message: "a backfill is one UPDATE, INSERT ... SELECT or DELETE",
                line: statement.line
            )
        }
        operation = verb.operation
        let uses = TableUse.all(in: statement)
        guard let target = uses.first(where: { $0.index > verb.index }) else {
            throw SQLFlaw(
                message: "the table that the statement changes is not understood",
                line: statement.line
            )
        }
        self.target = target
        let walked = uses.filter { $0.isOf(table) && ($0 != target || verb.operation != .insert) }
        guard let use = walked.first else {
            throw SQLFlaw(
                message: "the statement does not speak of \(table), whose rows the backfill walks",
                line: statement.line
            )
        }
        alias = use.alias
        canReturnKeys = !statement.contains("returning") && !Self.holdsInnerChange(statement)
    }

    /// The statement for a stretch of rows.
    func text(for condition: String) -> String { place.filled(with: condition) }

    /// Whether it sets one of these columns of the table that it walks: then a row moves to another place.
    func moves(_ columns: [String]) -> String? {
        guard operation == .update, alias == target.alias else { return nil }
        let tokens = statement.tokens
        guard let set = tokens.firstIndex(where: { $0.isWord("set") }) else { return nil }
        let end =
            tokens[set...].firstIndex { $0.isWord("where") || $0.isWord("from") } ?? tokens.endIndex
        return tokens[set..<end].indices.lazy.compactMap { index -> String? in
            guard index + 1 < tokens.count, tokens[index + 1].isSymbol("="),
                tokens[index - 1].isWord("set") || tokens[index - 1].isSymbol(",")
            else { return nil }
            return tokens[index].name
        }.first(where: columns.contains)
    }

    private static func verb(of statement: SQLStatement) -> (
        index: Int, operation: Batch.Operation
    )? {
        var depth = 0
        for (index, token) in statement.tokens.enumerated() {
            if token.isSymbol("(") { depth += 1 }
            if token.isSymbol(")") { depth -= 1 }
            guard depth == 0 else { continue }
            if token.isWord("update") { return (index, .update) }
            if token.isWord("insert") { return (index, .insert) }
            if token.isWord("delete") { return (index, .delete) }
        }
        return nil
    }

    /// The server takes a change inside WITH only at the top of a statement.
    private static func holdsInnerChange(_ statement: SQLStatement) -> Bool {
        zip(statement.tokens, statement.tokens.dropFirst()).contains { before, token in
            before.isSymbol("(") && ["update", "insert", "delete"].contains { token.isWord($0) }
        }
    }
}
