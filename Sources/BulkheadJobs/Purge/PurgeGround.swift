internal import Bulkhead
internal import FoundationEssentials
internal import Postgres

/// One table that a purge walks: a partition, the table itself, or a partitioned table as a whole.
struct PurgeGround {
    let oid: Int64
    /// The table that is purged.
    let root: Int64
    /// The name, quoted for SQL.
    let name: String
    /// What stands behind FROM, without the tables that inherit from it.
    let source: String
    /// The name under which the condition speaks of it.
    let alias: String
    /// The columns that a row's key in the feed is made of, quoted for SQL.
    let keyColumns: [String]
    /// Their types, as SQL.
    let keyTypes: [String]
    /// The feed's name for it and a row's key as JSON text, over a row `t`; nil where it has no key.
    let relation: String
    let feedKey: String?
    let columns: [ArchivedColumn]
    let filenode: Int64

    /// The same for the feed.
    var feed: FeedTarget { FeedTarget(oid: oid, relation: relation, key: feedKey) }

    init(
        _ oid: Int64,
        of table: PurgeTable,
        _ connection: Connection
    ) throws {
        let isParent = oid == table.oid && table.facts.isPartitioned
        let row = try connection.query(
            """
            select pg_catalog.format('%I.%I', n.nspname, c.relname), root.relation, root.key,
                coalesce(pg_catalog.pg_relation_filenode(c.oid), 0)::bigint
            from pg_catalog.pg_class c
            join pg_catalog.pg_namespace n on n.oid = c.relnamespace
            cross join lateral bulkhead.feed_key(\(table.oid)::oid) as root
            where c.oid = \(oid)::oid
            """
        )
        guard !row.isEmpty else { throw GroundGone() }
        self.oid = oid
        root = table.oid
        name = try row.required(0, 0)
        source = isParent ? name : "only \(name)"
        alias = table.alias
        keyColumns = table.key.map(\.name)
        keyTypes = table.key.map(\.type)
        relation = try row.required(0, 1)
        feedKey = try row.value(0, 2)
        filenode = try row.required(0, 3)
        columns = try ArchivedColumn.all(of: oid, connection)
    }
}

extension PurgeGround {
    /// Whether there is no table of an oid any more.
    static func isGone(_ oid: Int64, _ connection: Connection) throws -> Bool {
        try connection.query("select from pg_catalog.pg_class where oid = \(oid)::oid").isEmpty
    }
}

/// A partition that is no longer there.
struct GroundGone: Error {}

extension PurgeGround {
    /// Chooses the way through the table for batches of so many rows; nil when there is nothing to walk.
    func way(
        _ condition: String,
        _ table: PurgeTable,
        batch: Int,
        _ connection: Connection
    ) throws -> WalkPosition.Way? {
        if oid == table.oid, table.facts.isPartitioned { return try keyWay(table, connection) }
        if let column = try IndexedColumn(of: self, serving: condition, connection),
            column.isWorthWalking(batch: batch)
        {
            return try indexWay(column, connection)
        }
        let pages: Int64 = try connection.query(
            "select pg_catalog.pg_relation_size(\(oid)::oid) / pg_catalog.current_setting('block_size')::bigint"
        ).required(0, 0)
        return pages == 0 ? nil : .pages(end: pages)
    }

    private func keyWay(_ table: PurgeTable, _ connection: Connection) throws -> WalkPosition.Way? {
        guard !table.key.isEmpty else {
            throw JobFailure(
                "\(table.name) can only be purged through its key, since \(table.facts.needsParent ?? ""), "
                    + "and it has no primary key"
            )
        }
        let list = keyColumns.map { "pg_catalog.format('%s', \($0))" }.joined(separator: ", ")
        let order = keyColumns.map { "\($0) desc" }.joined(separator: ", ")
        let row = try connection.query(
            SQL(unsafe: "select \(list) from \(source) order by \(order) limit 1")
        )
        guard !row.isEmpty else { return nil }
        return .key(end: try keyColumns.indices.map { try row.required(0, $0) })
    }

    private func indexWay(
        _ column: IndexedColumn,
        _ connection: Connection
    ) throws -> WalkPosition.Way? {
        let row = try connection.query(
            SQL(
                unsafe: """
                    select pg_catalog.format('%s', \(column.name)) from \(source)
                    where \(column.name) is not null order by \(column.name) desc limit 1
                    """
            )
        )
        guard !row.isEmpty else { return nil }
        return .index(column: column.name, type: column.type, end: try row.required(0, 0))
    }
}

extension PurgeGround {
    /// What to call a row, by its place: its key in the feed, else the place.
    func name(
        of place: [String],
        _ way: WalkPosition.Way,
        _ connection: Connection
    ) throws -> String {
        let row: String
        switch way {
        case .pages, .index: row = "t.ctid = '\(literal(place.last ?? ""))'::tid"
        case .key:
            row = zip(zip(keyColumns, keyTypes), place).map { column, value in
                "t.\(column.0) = '\(literal(value))'::\(column.1)"
            }.joined(separator: " and ")
        }
        let place = "\(name) \(place.last ?? "")"
        guard let feedKey else { return place }
        let found = try connection.query(
            SQL(unsafe: "select \(feedKey) from \(source) t where \(row)")
        )
        return found.isEmpty ? place : "\(relation) \(try found.value(0, 0, as: String.self) ?? "")"
    }
}
