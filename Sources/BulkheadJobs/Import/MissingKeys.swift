/// The columns, by their positions, of which rows of a batch say nothing.
struct MissingKeys {
    /// Those that no row speaks of.
    var everywhere: Set<Int> = []
    /// Those that some rows speak of, and some do not.
    var somewhere: Set<Int> = []

    static let none = MissingKeys()

    /// Whether one of these columns is among them.
    func contains(anyOf columns: [Int]) -> Bool {
        columns.contains { everywhere.contains($0) || somewhere.contains($0) }
    }
}

extension ParsedBatch {
    /// The columns that a row says nothing of, as the text of an array.
    func missingText(of row: Int) -> String {
        "{\(rows[row].missing.map { String($0) }.joined(separator: ","))}"
    }

    var missingKeys: MissingKeys {
        guard hasMissing else { return .none }
        var counts: [Int: Int] = [:]
        for row in rows {
            for column in row.missing { counts[Int(column), default: 0] += 1 }
        }
        var missing = MissingKeys()
        for (column, count) in counts {
            if count == rows.count {
                missing.everywhere.insert(column)
            } else {
                missing.somewhere.insert(column)
            }
        }
        return missing
    }
}
