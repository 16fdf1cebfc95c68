internal import Bulkhead
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
    /// The table that a restore fills with its rows: partitions may come and go.
    func restored(in table: PurgeTable) -> String {
        table.facts.isPartitioned ? table.name : name
    }

    /// Whether there is no table of an oid any more.
    static func isGone(_ oid: Int64, _ connection: Connection) throws -> Bool {
        try connection.query("select from pg_catalog.pg_class where oid = \(oid)::oid").isEmpty
    }
}

/// A partition that is no longer there.
struct GroundGone: Error {}

extension PurgeGround {
    /// What to call a row, by its place: its key in the feed, else the place.
    func name(
        of place: [String],
        _ way: WalkPosition.Way,
        _ connection: Connection
    ) throws -> String {
        let row: String
        switch way {
        case .pages, .index: row = "t.ctid = \(quoted(literal: place.last ?? ""))::tid"
        case .key:
            row = zip(zip(keyColumns, keyTypes), place).map { column, value in
                "t.\(column.0) = \(quoted(literal: value))::\(column.1)"
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
