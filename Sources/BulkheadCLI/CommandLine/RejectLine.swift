internal import Bulkhead
internal import Postgres

/// A rejected row as people read it, on one line.
enum RejectLine {
    /// What of `bulkhead.reject` it shows.
    static let columns: SQL = "file, line, column_name, value, sqlstate, message"

    /// The line of a row whose columns begin at a position.
    static func text(_ rows: borrowing Rows, _ row: Int, from first: Int) throws -> String {
        let file: String = try rows.required(row, first)
        let line: Int64 = try rows.required(row, first + 1)
        let state: String = try rows.required(row, first + 4)
        var text = "\(file):\(line): \(try rows.required(row, first + 5, as: String.self))"
        if let column = try rows.value(row, first + 2, as: String.self) {
            text += ", column \(column)"
            if let value = try rows.value(row, first + 3, as: String.self) {
                text += ", value \"\(shown(value))\""
            }
        }
        return "\(text) [\(state)]"
    }

    /// The value on one line, with nothing in it that a terminal would obey.
    private static func shown(_ value: String) -> String {
        value.unicodeScalars.map { scalar in
            scalar.properties.generalCategory == .control
                ? scalar.escaped(asASCII: true) : String(scalar)
        }.joined()
    }
}
