internal import Postgres

/// A table as the feed knows it.
struct FeedTable: Sendable {
    /// Its own name, quoted where SQL needs it.
    let name: String
    /// The name under which its changes are recorded; of a partition, that of the table it belongs to.
    let relation: String
    let isTracked: Bool
    let key: Key?

    /// A primary key.
    struct Key: Sendable {
        /// An expression over a row `t` that yields what the feed writes.
        let expression: String
        /// The columns, quoted, with the names of their types.
        let columns: [(name: String, type: String)]
    }

    /// Asks for a table by the name that a user gave.
    static func question(_ name: String) -> SQL {
        """
        select f.name, f.relation, f.is_tracked, f.key, k.name, k.type
        from bulkhead.feed_table(\(name)::regclass) f
        left join lateral unnest(f.columns, f.types) with ordinality as k (name, type, place) on true
        order by k.place
        """
    }

    /// Reads the answer.
    init(_ rows: borrowing Rows) throws {
        name = try rows.required(0, 0)
        relation = try rows.required(0, 1)
        isTracked = try rows.required(0, 2)
        let expression: String? = try rows.value(0, 3)
        guard let expression else {
            key = nil
            return
        }
        var columns: [(name: String, type: String)] = []
        for row in 0..<rows.count {
            let name: String = try rows.required(row, 4)
            columns.append((quoted(identifier: name), try rows.required(row, 5)))
        }
        key = Key(expression: "(\(expression))::jsonb::text", columns: columns)
    }
}
