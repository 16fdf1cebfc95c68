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
