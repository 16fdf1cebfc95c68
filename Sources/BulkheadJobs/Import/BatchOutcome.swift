internal import Postgres

/// What has become of a batch's rows so far.
struct BatchOutcome {
    var merged = MergeCounts(unchanged: 0)
    private(set) var rejects: [Reject]
    /// The good rows of the file that the server refused.
    private(set) var refused: Set<Int> = []
    /// Rows from here on do not matter: there are more rejects than the job allows, and only one that
    /// stands before them in the file could still be the first.
    private(set) var horizon: Int
    /// Rows before this one have had their values looked at.
    private(set) var screened = 0
    /// How many of them were refused by that look.
    private(set) var screenedOut = 0

    private let batch: ParsedBatch
    private let columns: [ImportTarget.Column]
    private let file: String
    private let allowed: Int64

    /// Starts with the rows that could not even be read, of a job that may have so many rejects more.
    init(
        _ batch: ParsedBatch,
        columns: [ImportTarget.Column],
        file: String,
        allowed: Int64
    ) {
        self.batch = batch
        self.columns = columns
        self.file = file
        self.allowed = allowed
        rejects = batch.rejects
        horizon = batch.rows.count
        drawHorizon()
    }

    /// Whether the job fails for its rejects.
    var hasTooMany: Bool { rejects.count > allowed }

    /// The rows of a selection that are refused, in order.
    func refused(in rows: RowSelection) -> [Int] {
        switch rows {
        case .list(let rows): rows.filter(refused.contains)
        case .range(let rows):
            rows.count < refused.count
                ? rows.filter(refused.contains) : refused.filter(rows.contains).sorted()
        }
    }

    /// Notes that the server refused a row, and the position of the column to blame, where it is known.
    mutating func refuse(_ row: Int, _ error: PostgresError, column: Int?) {
        let detail = error.detail.map { " (\($0))" } ?? ""
        refuse(
            row,
            column: column,
            sqlstate: error.state?.rawValue ?? "XX000",
            message: error.message + (error.kind == .conflict ? detail : "")
        )
    }

    /// Notes that the values of rows before this one have been looked at, and so many of them refused.
    mutating func screen(upTo end: Int, refused: Int) {
        screened = end
        screenedOut += refused
    }

    mutating func refuse(_ row: Int, column: Int?, sqlstate: String, message: String) {
        let column = column.flatMap { columns.indices.contains($0) ? $0 : nil }
        refused.insert(row)
        rejects.append(
            Reject(
                file: file,
                line: batch.rows[row].line,
                offset: batch.rows[row].offset,
                columnName: column.map { columns[$0].name },
                value: column.flatMap { batch.value(of: row, column: $0) },
                sqlstate: sqlstate,
                message: message,
                raw: batch.raw(of: row),
                rowBytes: Int64(batch.raw(of: row).count),
                lineEnd: batch.rows[row].lineEnd
            )
        )
        drawHorizon()
    }

    private mutating func drawHorizon() {
        guard hasTooMany, let first = rejects.map(\.line).min() else { return }
        var (low, high) = (0, horizon)
        while low < high {
            let middle = (low + high) / 2
            if batch.rows[middle].line < first { low = middle + 1 } else { high = middle }
        }
        horizon = low
    }
}
