/// The keys of a batch's rows as the feed wants them, as far as the file tells them.
struct FeedIDs: Sendable {
    /// One key behind the other, as JSON.
    private var bytes: [UInt8] = []
    /// Where each row's key ends.
    private var ends: [Int] = []

    private static let inOneList = 10_000

    /// Adds the key of the next row; it has none where a value is not canonical.
    ///
    /// `value` is what the record says in a field, nil for NULL.
    @inline(__always)
    mutating func append(_ key: FeedKey, value: (_ field: Int) -> [UInt8]?) {
        key.append(to: &bytes, value: value)
        ends.append(bytes.count)
    }

    /// JSON arrays of the keys of all rows but some, 10,000 at most in each; nil when one has none.
    func lists(without refused: Set<Int>) -> [[UInt8]]? {
        var lists: [[UInt8]] = []
        var list: [UInt8] = []
        var count = 0
        var start = 0
        for (row, end) in ends.enumerated() {
            defer { start = end }
            if refused.contains(row) { continue }
            guard end > start else { return nil }
            list.append(UInt8(ascii: count == 0 ? "[" : ","))
            list += bytes[start..<end]
            count += 1
            if count == Self.inOneList {
                lists.append(list + [UInt8(ascii: "]")])
                list.removeAll(keepingCapacity: true)
                count = 0
            }
        }
        if count > 0 { lists.append(list + [UInt8(ascii: "]")]) }
        return lists
    }
}
