/// Finds the places of some rows among others whose order is known, by asking someone who can order a few of
/// both.
///
/// The database alone can tell the order of two values: collations, NULLS LAST, numbers of any length. To compare
/// by `(a, b) < ($1, $2)` would need the comparisons of each mixed ORDER BY spelt out, and an index that fits
/// them; and Swift knows none of this. So the server is asked to put a few held rows, the pivots, and the new ones
/// in order, by the query's own ORDER BY: it finds them by their keys, in the same snapshot. Each answer narrows
/// the places down as many times as there are pivots for a row: of 10 rows among 1,000,000 three answers tell
/// all, and one does where a row stays beside its old neighbours.
struct Placement {
    /// For each new row, the known rows of which it is not known on which side of them it belongs.
    private var ranges: [Range<Int>]
    /// Likely numbers of known rows before each new row.
    private let guesses: [Int?]
    /// The new rows in their order, once it is known.
    private(set) var order: [Int]?
    private let count: Int
    private var isAsked = false

    /// A row that takes part in an ordering.
    enum Member: Hashable {
        /// One whose place is known.
        case known(Int)
        /// One whose place is sought.
        case new(Int)
    }

    /// - Parameters:
    ///   - count: The number of rows whose order is known.
    ///   - guesses: For each new row the number of known rows that were before it when it was read last.
    init(among count: Int, guesses: [Int?]) {
        self.count = count
        self.guesses = guesses
        ranges = guesses.map { _ in 0..<count }
        if guesses.count < 2 { order = Array(guesses.indices) }
    }

    /// Whether everything is known.
    var isDone: Bool { order != nil && ranges.allSatisfy(\.isEmpty) }

    /// The number of known rows before a new one.
    func gap(_ new: Int) -> Int { ranges[new].lowerBound }

    /// What is to be put in order next.
    func question() -> [Member] {
        var pivots: Set<Int> = []
        let open = ranges.indices.filter { order == nil || !ranges[$0].isEmpty }
        let different = Set(open.map { ranges[$0] })
        let share = max(1, max(500, 4 * open.count) / max(1, different.count))
        for range in different {
            let parts = min(share, range.count)
            for part in 0..<parts {
                pivots.insert(range.lowerBound + (2 * part + 1) * range.count / (2 * parts))
            }
        }
        if !isAsked {
            for guess in guesses.compactMap(\.self) {
                pivots.formUnion([guess - 1, guess].filter { (0..<count).contains($0) })
            }
        }
        return pivots.map(Member.known) + open.map(Member.new)
    }

    /// Takes an answer; false when it contradicts what is known.
    mutating func learn(_ members: [Member]) -> Bool {
        isAsked = true
        var before = -1
        var new: [Int] = []
        for member in members {
            switch member {
            case .known(let place):
                guard place > before else { return false }
                before = place
            case .new(let row):
                guard before < ranges[row].upperBound else { return false }
                ranges[row] = max(ranges[row].lowerBound, before + 1)..<ranges[row].upperBound
                new.append(row)
            }
        }
        var after = count
        for member in members.reversed() {
            switch member {
            case .known(let place): after = place
            case .new(let row):
                guard ranges[row].lowerBound <= after else { return false }
                ranges[row] = ranges[row].lowerBound..<min(ranges[row].upperBound, after)
            }
        }
        order = order ?? new
        return true
    }
}
