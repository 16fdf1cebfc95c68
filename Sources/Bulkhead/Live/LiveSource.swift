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

    /// The column that tells the rows apart; nil when only their whole text does.
    func keyColumn(of rows: borrowing Rows, _ tables: [FeedTable]) throws -> Int? {
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
}
