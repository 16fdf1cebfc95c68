internal import Postgres

/// A table as the feed knows it.
struct FeedTable: Sendable, Equatable {
    /// What its name stood for.
    private let oid: String
    /// Its own name, quoted where SQL needs it.
    let name: String
    /// The name under which its changes are recorded; of a partition, that of the table it belongs to.
    let relation: String
    let isTracked: Bool
    let key: Key?

    /// A primary key.
    struct Key: Sendable, Equatable {
        /// An expression over a row `t` that yields what the feed writes.
        let expression: String
        let columns: [Column]
    }

    /// A column of a primary key.
    struct Column: Sendable, Equatable {
        /// Its name, quoted.
        let name: String
        /// Its type, as SQL writes it.
        let type: String
    }

    /// Asks for a table by the name that a user gave.
    static func question(_ name: String) -> SQL {
        """
        select r.oid, f.name, f.relation, f.is_tracked, f.key, k.name, k.type
        from (select \(name)::regclass as oid) r
        cross join lateral bulkhead.feed_table(r.oid) f
        left join lateral unnest(f.columns, f.types) with ordinality as k (name, type, place) on true
        order by k.place
        """
    }

    /// Reads the answer.
    init(_ rows: borrowing Rows) throws {
        oid = try rows.required(0, 0)
        name = try rows.required(0, 1)
        relation = try rows.required(0, 2)
        isTracked = try rows.required(0, 3)
        guard let expression: String = try rows.value(0, 4) else {
            key = nil
            return
        }
        var columns: [Column] = []
        for row in 0..<rows.count {
            let name: String = try rows.required(row, 5)
            columns.append(
                Column(name: quoted(identifier: name), type: try rows.required(row, 6))
            )
        }
        key = Key(expression: "(\(expression))::jsonb::text", columns: columns)
    }
}
