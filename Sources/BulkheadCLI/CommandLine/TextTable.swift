internal import Postgres

/// Rows of cells, printed in columns.
struct TextTable {
    private var rows: [[String]]

    init(_ header: String...) {
        rows = [header]
    }

    /// Prints the rows of a query as a table, or as one JSON array of the documents in its last column.
    ///
    /// `nothing` is noted when there are no rows.
    static func print(
        _ rows: borrowing Rows,
        _ header: [String],
        nothing: String,
        _ terminal: Terminal
    ) throws {
        if terminal.printsJSON {
            let documents = try (0..<rows.count).map {
                try rows.required($0, header.count, as: String.self)
            }
            return try terminal.result("[\(documents.joined(separator: ",\n "))]")
        }
        guard !rows.isEmpty else { return terminal.note(nothing) }
        var table = TextTable(rows: [header])
        for row in 0..<rows.count {
            table.add(try header.indices.map { try rows.required(row, $0) })
        }
        try terminal.result(table.text)
    }

    private init(rows: [[String]]) {
        self.rows = rows
    }

    mutating func add(_ cells: String...) {
        add(cells)
    }

    mutating func add(_ cells: [String]) {
        rows.append(cells)
    }

    /// The rows with their columns aligned.
    var text: String {
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        let lines = rows.map { row in
            let cells = zip(row, widths).map { cell, width in cell.padded(to: width + 2) }
            var line = cells.joined()
            while line.last == " " { line.removeLast() }
            return line
        }
        return lines.joined(separator: "\n")
    }
}
