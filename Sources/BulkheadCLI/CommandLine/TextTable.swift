/// Rows of cells, printed in columns.
struct TextTable {
    private var rows: [[String]]

    init(_ header: String...) {
        rows = [header]
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
