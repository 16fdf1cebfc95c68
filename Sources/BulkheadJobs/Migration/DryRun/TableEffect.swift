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

    /// Whether the work grows with the table.
    var isLong: Bool { isRewritten || isScanned || !builtIndexes.isEmpty }
}
