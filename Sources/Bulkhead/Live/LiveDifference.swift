/// How one snapshot of a query became the next.
///
/// As in the change sets of table views, `deleted` and where rows moved from are places in the old rows, all
/// else places in the new ones: take out what was deleted and what moved, from the last to the first, then put
/// in what was inserted and what moved, from the first to the last, then read again what was updated.
public struct LiveDifference: Sendable, Hashable {
    /// A row that changed its place among those that stayed.
    public struct Move: Sendable, Hashable {
        /// Its place in the old rows.
        public let from: Int
        /// Its place in the new rows.
        public let to: Int
    }

    /// Places in the old rows of those that are gone, ascending.
    public let deleted: [Int]
    /// Places in the new rows of those that have come, ascending.
    public let inserted: [Int]
    /// As few rows as explain the new order, ascending by their new places.
    public let moved: [Move]
    /// Places in the new rows of those that hold other values than before, moved ones included, ascending.
    public let updated: [Int]

    /// Whether both snapshots are the same.
    public var isEmpty: Bool {
        deleted.isEmpty && inserted.isEmpty && moved.isEmpty && updated.isEmpty
    }

    /// Compares by where each new row was before; nil for one that has come.
    init(origins: [Int?], oldCount: Int, isUpdated: (_ old: Int, _ new: Int) -> Bool) {
        var isGone = [Bool](repeating: true, count: oldCount)
        var inserted: [Int] = []
        var updated: [Int] = []
        var kept: [Move] = []
        for (new, origin) in origins.enumerated() {
            guard let old = origin else {
                inserted.append(new)
                continue
            }
            isGone[old] = false
            kept.append(Move(from: old, to: new))
            if isUpdated(old, new) { updated.append(new) }
        }
        deleted = isGone.indices.filter { isGone[$0] }
        self.inserted = inserted
        self.updated = updated
        let resting = longestAscent(kept.map(\.from))
        moved = kept.indices.filter { !resting[$0] }.map { kept[$0] }
    }
}

/// Which members of a sequence of different numbers make up its longest ascending part.
private func longestAscent(_ numbers: [Int]) -> [Bool] {
    /// Where the best ascent of each length ends, and what comes before each number in its best one.
    var ends: [Int] = []
    var previous = [Int?](repeating: nil, count: numbers.count)
    for index in numbers.indices {
        var (low, high) = (0, ends.count)
        // Mostly it goes on where it was.
        if let last = ends.last, numbers[last] < numbers[index] { low = high }
        while low < high {
            let middle = (low + high) / 2
            if numbers[ends[middle]] < numbers[index] { low = middle + 1 } else { high = middle }
        }
        previous[index] = low > 0 ? ends[low - 1] : nil
        if low == ends.count { ends.append(index) } else { ends[low] = index }
    }
    var isMember = [Bool](repeating: false, count: numbers.count)
    var next = ends.last
    while let index = next {
        isMember[index] = true
        next = previous[index]
    }
    return isMember
}
