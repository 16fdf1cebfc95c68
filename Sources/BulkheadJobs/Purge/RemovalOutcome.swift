/// What came of one removal.
struct RemovalOutcome: Decodable {
    var picked: Int
    var deleted: Int
    var blocked: Int
    /// The places of the last row that was picked, and of the first that was not deleted.
    let last: [String]?
    var left: [String]?
    /// Those that match and are still there, though nothing known refers to them; nil until they are counted.
    var kept: Int?
    let filenode: Int64
    /// Whether the rows are still the table's: a partition may have been detached.
    let isPart: Bool

    private enum CodingKeys: String, CodingKey {
        case picked, deleted, blocked, last, left, kept, filenode
        case isPart = "is_part"
    }
}
