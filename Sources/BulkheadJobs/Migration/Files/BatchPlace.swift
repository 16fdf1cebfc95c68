/// Where `{batch}` stands in the statement of a backfill.
struct BatchPlace {
    private let statement: SQLStatement
    private let range: Range<Int>

    /// - Throws: `SQLFlaw` when it is not there once, or the statement is of a sort that changes no rows.
    init(_ statement: SQLStatement) throws(SQLFlaw) {
        let places = Self.places(in: statement)
        guard ["update", "insert", "delete", "with"].contains(statement.tokens.first?.name) else {
            throw SQLFlaw(
                message: "a backfill is one UPDATE, INSERT ... SELECT or DELETE",
                line: statement.line
            )
        }
        guard let range = places.first, places.count == 1 else {
            throw SQLFlaw(
                message: places.isEmpty
                    ? "a backfill needs {batch} where the range of rows goes, such as WHERE {batch}"
                    : "a backfill holds {batch} once, not \(places.count) times",
                line: statement.line
            )
        }
        self.statement = statement
        self.range = range
    }

    /// Whether a statement holds one outside quotes.
    static func isMeant(in statement: SQLStatement) -> Bool { !places(in: statement).isEmpty }

    /// The statement with a condition in its place.
    func filled(with condition: String) -> String {
        statement.replacing(range, with: "(\(condition))")
    }

    private static func places(in statement: SQLStatement) -> [Range<Int>] {
        let tokens = statement.tokens
        return tokens.indices.dropLast(2).filter { index in
            tokens[index].isSymbol("{") && tokens[index + 1].isWord("batch")
                && tokens[index + 2].isSymbol("}")
        }.map { tokens[$0].range.lowerBound..<tokens[$0 + 2].range.upperBound }
    }
}
