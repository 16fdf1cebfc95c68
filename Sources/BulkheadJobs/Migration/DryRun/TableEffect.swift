/// What a statement does to one table that was there before it.
struct TableEffect: Codable, Equatable, Sendable {
    /// The table, quoted for SQL.
    let table: String
    /// The strongest lock that it takes on it; nil for none.
    var lock: LockMode?
    /// Whether the table's rows are written anew.
    var isRewritten = false
    /// Whether all rows are looked at.
    var isScanned = false
    /// The indexes that are built over its rows.
    var builtIndexes: [String] = []

    /// An index that is built CONCURRENTLY: outside a transaction nobody can look while it holds its locks, so this is
    /// what the server's manual says, and what tests see from another session.
    static func buildingConcurrently(on table: String) -> TableEffect {
        TableEffect(table: table, lock: .shareUpdateExclusive, builtIndexes: ["(concurrently)"])
    }

    /// Whether the work grows with the table.
    var isLong: Bool { isRewritten || isScanned || !builtIndexes.isEmpty }
}
