/// A column of the table that a file is imported into, as far as the mapping asks.
struct TableColumn: Sendable, Equatable {
    let name: String
    /// Whether every row must bring a value: NOT NULL, with no default to fall back on.
    let isRequired: Bool
    /// Whether the database alone makes its values.
    let isGenerated: Bool

    init(_ name: String, isRequired: Bool = false, isGenerated: Bool = false) {
        self.name = name
        self.isRequired = isRequired
        self.isGenerated = isGenerated
    }
}
