import Bulkhead
import Foundation

/// Shows snapshots: on a terminal the whole table anew, elsewhere a line for each row that changed.
struct Screen {
    /// What is shown.
    private(set) var rows: [TextRow]?
    private let isTerminal = isatty(STDOUT_FILENO) == 1

    /// Shows a snapshot.
    mutating func show(_ snapshot: LiveSnapshot<TextRow>) {
        isTerminal ? draw(snapshot) : list(snapshot)
        rows = snapshot.rows
    }

    /// Gives the terminal back.
    func leave() {
        if isTerminal { write("\u{1B}[?25h") }
    }

    /// The first rows that there is room for, what is new in them in colour.
    private func draw(_ snapshot: LiveSnapshot<TextRow>) {
        let change = snapshot.difference
        let isFirst = rows == nil
        let (new, other) = (Set(change.inserted), Set(change.updated + change.moved.map(\.to)))
        var size = winsize()
        _ = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size)
        // A terminal may not know its size.
        let height = size.ws_row > 2 ? Int(size.ws_row) - 2 : 22
        let width = size.ws_col > 0 ? Int(size.ws_col) : 80
        var text = "\u{1B}[?25l\u{1B}[H"
        for (place, row) in snapshot.rows.prefix(height).enumerated() {
            let color =
                isFirst
                ? ""
                : new.contains(place) ? "\u{1B}[32m" : other.contains(place) ? "\u{1B}[33m" : ""
            // Longer lines are cut at the edge, and what was there before is wiped away.
            text +=
                "\(color)\(row.joined(separator: "  ").prefix(width))\u{1B}[0m\u{1B}[K\n"
        }
        let counts = "+\(change.inserted.count) -\(change.deleted.count) ~\(other.count)"
        write(text + "\u{1B}[2m\(snapshot.rows.count) rows, \(counts)\u{1B}[0m\u{1B}[K\u{1B}[J\n")
    }

    private func list(_ snapshot: LiveSnapshot<TextRow>) {
        let change = snapshot.difference
        var text = ""
        func line(_ sign: Character, _ row: TextRow) {
            text += "\(sign) \(row.joined(separator: "\t"))\n"
        }
        for place in change.deleted { line("-", (rows ?? [])[place]) }
        for place in change.inserted { line("+", snapshot.rows[place]) }
        for place in Set(change.updated + change.moved.map(\.to)).sorted() {
            line("~", snapshot.rows[place])
        }
        write(text + "= \(snapshot.rows.count) rows\n")
    }

    private func write(_ text: String) {
        FileHandle.standardOutput.write(Data(text.utf8))
    }
}
