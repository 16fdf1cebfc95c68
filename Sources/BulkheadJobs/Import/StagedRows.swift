internal import Postgres

/// A batch's rows as the server sees them before they are in the table.
protocol StagedRows {
    /// Sends the rows, as far as that is done beforehand, and notes those whose values are refused.
    func fill(_ outcome: inout BatchOutcome) throws

    /// Rows as an item of FROM named `s`: their number in the batch, `bulkhead_n`, and the values for the
    /// table's columns, `bulkhead_c1`, `bulkhead_c2`, ... of its types.
    func source(_ rows: RowSelection, without refused: [Int]) -> SQL

    /// The position of the column whose value the server refused in this row; nil when it is none's or
    /// the error tells.
    func blame(_ row: Int) throws -> Int?
}

/// Some of a batch's rows, by their numbers, in order.
enum RowSelection {
    case range(ClosedRange<Int>)
    case list([Int])

    var count: Int {
        switch self {
        case .range(let rows): rows.count
        case .list(let rows): rows.count
        }
    }

    /// The numbers that are left when some are left out.
    func numbers(without refused: [Int]) -> [Int] {
        let refused = Set(refused)
        return switch self {
        case .range(let rows): rows.filter { !refused.contains($0) }
        case .list(let rows): rows.filter { !refused.contains($0) }
        }
    }

    /// Two parts of about the same size, the first one before the second.
    var halves: [RowSelection] {
        switch self {
        case .range(let rows):
            let middle = rows.lowerBound + (rows.count - 1) / 2
            return [.range(rows.lowerBound...middle), .range(middle + 1...rows.upperBound)]
        case .list(let rows):
            let middle = rows.count / 2
            return [.list(Array(rows[..<middle])), .list(Array(rows[middle...]))]
        }
    }

    /// The part before a row; nil when there is none.
    func before(_ end: Int) -> RowSelection? {
        switch self {
        case .range(let rows):
            return rows.lowerBound < end ? .range(rows.clamped(to: 0...end - 1)) : nil
        case .list(let rows):
            let rows = rows.filter { $0 < end }
            return rows.isEmpty ? nil : .list(rows)
        }
    }
}
