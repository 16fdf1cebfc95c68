internal import Postgres

/// What a live query asks for.
enum LiveSource: Sendable {
    /// Rows of one table.
    case table(LiveTable)
    /// The rows of any statement, which may change with any of the tables; the key is a column that tells its
    /// rows apart.
    case statement(SQL, tables: [String], key: String?)

    /// The tables as the user named them.
    var tables: [String] {
        switch self {
        case .table(let table): [table.name]
        case .statement(_, let tables, _): tables
        }
    }

    /// The statement that reads all rows.
    func whole(of tables: [FeedTable]) -> SQL {
        switch self {
        case .table(let table): table.whole(of: tables[0])
        case .statement(let statement, _, _): statement
        }
    }

    /// What tells each row from the others; what was added to the query for that is hidden from here on.
    func takeIDs(from rows: inout Rows, _ tables: [FeedTable]) throws -> [RowID] {
        guard let column = try keyColumn(of: rows, tables) else { return try texts(of: rows) }
        let ids = try (0..<rows.count).map { RowID(try rows.required($0, column)) }
        if case .table = self { rows.hideLastColumns(1) }
        var seen: Set<RowID> = []
        for id in ids where !seen.insert(id).inserted {
            throw LiveQueryError(
                "two rows of the result have the key \(id), which must tell them apart"
            )
        }
        return ids
    }

    /// The column that tells the rows apart; nil when only their whole text does.
    private func keyColumn(of rows: borrowing Rows, _ tables: [FeedTable]) throws -> Int? {
        switch self {
        case .table: return tables[0].key.map { _ in rows.columnCount - 1 }
        case .statement(_, _, nil): return nil
        case .statement(_, _, let key?):
            for column in 0..<rows.columnCount where rows.columnName(column) == key {
                return column
            }
            throw LiveQueryError("the statement has no column \(key), which was named as its key")
        }
    }

    /// The whole text of each row; of equal rows with a number.
    private func texts(of rows: borrowing Rows) throws -> [RowID] {
        var repetitions: [RowID: Int] = [:]
        var texts: [RowID] = []
        for row in 0..<rows.count {
            var text = ""
            for column in 0..<rows.columnCount {
                text += try rows.value(row, column).map { "\u{1F}" + $0 } ?? "\u{1D}"
            }
            let repetition = repetitions[RowID(text), default: 0]
            repetitions[RowID(text)] = repetition + 1
            texts.append(RowID(repetition == 0 ? text : "\(text)\u{1E}\(repetition)"))
        }
        return texts
    }
}
