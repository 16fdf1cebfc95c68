/// How the rows of one table are found, and how far that is.
struct WalkPosition: Codable, Equatable {
    /// The way through the table.
    let way: Way
    /// What a row's place must not be below.
    var after: Place?
    /// Tells the table's file from a later one: places in one mean nothing in the other.
    let filenode: Int64

    enum Way: Codable, Equatable {
        /// Ranges of ctid below a page that was the table's end when the walk began.
        case pages(end: Int64)
        /// An index's first column in its order, up to the greatest value that there was when the walk
        /// began; within one value by ctid.
        case index(column: String, type: String, end: String)
        /// The primary key in its order, up to the greatest that there was.
        case key(end: [String])
    }

    enum Place: Codable, Equatable {
        case page(Int64, offset: Int)
        case value(String, ctid: String)
        case key([String])
    }
}

extension WalkPosition.Way {
    /// The way in words.
    var words: String {
        switch self {
        case .pages(let end): "by ranges of ctid, \(end) pages"
        case .index(let column, _, let end): "by the index on \(column), up to \(end)"
        case .key(let end): "by the primary key, up to \(end.joined(separator: ", "))"
        }
    }
}
