internal import Bulkhead
internal import Postgres

/// Values of a batch that the server may refuse, gathered so that it is asked once for all of them.
struct SuspectValues {
    private var rows: [Int] = []
    private var columns: [Int] = []
    private var types: [String] = []
    private var values: [[UInt8]] = []

    /// More of a column's values than one in so many: then it is written in another way, not wrong.
    private static let usualShare = 5

    /// Looks through the rows of a range.
    init(_ batch: ParsedBatch, in range: Range<Int>, of columns: [ImportTarget.Column]) {
        let screens = columns.map(ValueScreen.init)
        var suspects: [[Int]] = Array(repeating: [], count: columns.count)
        for row in range {
            // Tabs within values are escaped; the last field ends at the line's end.
            var rest = batch.text(of: row).dropLast()
            for (column, screen) in screens.enumerated() {
                let end = rest.firstIndex(of: Byte.tab) ?? rest.endIndex
                if let screen, !screen.passes(rest[..<end]) { suspects[column].append(row) }
                rest = rest[min(end + 1, rest.endIndex)...]
            }
        }
        for (column, found) in suspects.enumerated()
        where found.count <= max(100, range.count / Self.usualShare) {
            guard let type = columns[column].arrayType else { continue }
            for row in found {
                guard let value = batch.value(of: row, column: column) else { continue }
                rows.append(row)
                self.columns.append(column)
                types.append(type)
                values.append(value)
            }
        }
    }

    /// Has the server read them, and notes the rows whose value it refuses.
    func judge(_ outcome: inout BatchOutcome, _ connection: Connection) throws {
        guard !rows.isEmpty else { return }
        let literals = values.map { SentRows.literal([$0], delimiter: ",") }
        let refused = try connection.query(
            """
            select r.n, r.col, r.code, r.message
            from bulkhead.refused_values(\(rows)::int[], \(columns)::int[], \(types)::text[],
                \(literals)::text[]) r
            order by r.n, r.col
            """
        )
        for item in 0..<refused.count {
            let row: Int = try refused.required(item, 0)
            guard !outcome.refused.contains(row) else { continue }
            outcome.refuse(
                row,
                column: try refused.required(item, 1),
                sqlstate: try refused.required(item, 2),
                message: try refused.required(item, 3)
            )
        }
    }
}
