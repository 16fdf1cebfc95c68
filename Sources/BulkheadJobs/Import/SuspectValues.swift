internal import Bulkhead
internal import Postgres

/// Values of a batch that the server may refuse, gathered so that it is asked once for all of them.
struct SuspectValues {
    private var rows: [Int] = []
    private var columns: [Int] = []
    private var types: [String] = []
    private var values: [[UInt8]] = []

    /// Where the rows end that were looked through: values that are read at once must fit in memory.
    private var end: Int

    /// More of a column's values than one in so many: then it is written in another way, not wrong.
    private static let usualShare = 2
    private static let most = 20_000

    /// Looks through the rows of a range.
    init(_ batch: ParsedBatch, in range: Range<Int>, of columns: [ImportTarget.Column]) {
        end = range.upperBound
        var places = Self.places(batch, range, columns).enumerated().filter {
            $0.element.count <= max(100, range.count / Self.usualShare)
        }.flatMap { column, rows in rows.map { (row: $0, column: column) } }
        places.sort { ($0.row, $0.column) < ($1.row, $1.column) }
        if places.count > Self.most {
            end = places[Self.most].row
            places.removeAll { $0.row >= end }
        }
        for (row, column) in places {
            guard let type = columns[column].arrayType,
                let value = batch.value(of: row, column: column)
            else { continue }
            rows.append(row)
            self.columns.append(column)
            types.append(type)
            values.append(value)
        }
    }

    /// The rows of each column in which a value looks odd.
    private static func places(
        _ batch: ParsedBatch,
        _ range: Range<Int>,
        _ columns: [ImportTarget.Column]
    ) -> [[Int]] {
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
        return suspects
    }

    /// Finds the bad values of a batch, without trying each row.
    static func judgeAll(of task: LoadTask, _ outcome: inout BatchOutcome) throws {
        while outcome.screened < outcome.horizon {
            try judge(task, from: outcome.screened, &outcome)
        }
    }

    /// Finds the bad values from a row on, as far as they are read at once.
    static func judge(_ task: LoadTask, from first: Int, _ outcome: inout BatchOutcome) throws {
        let suspects = SuspectValues(
            task.batch,
            in: first..<outcome.horizon,
            of: task.plan.columns
        )
        let before = outcome.refused.count
        try suspects.judge(&outcome, task.connection)
        outcome.screen(upTo: suspects.end, refused: outcome.refused.count - before)
    }

    /// Has the server read them, and notes the rows whose value it refuses.
    private func judge(_ outcome: inout BatchOutcome, _ connection: Connection) throws {
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
