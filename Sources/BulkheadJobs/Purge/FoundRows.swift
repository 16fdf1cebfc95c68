internal import Bulkhead
internal import Postgres

/// The rows that go with a batch, in all tables, each of them locked.
struct FoundRows {
    /// Rows of one table that are to be deleted.
    struct Rows {
        let table: PurgeTable
        let ground: PurgeGround
        var places: Set<String>
    }

    /// Rows whose foreign key is to be set to NULL or its default.
    struct Change {
        let reference: Reference
        /// The rows that are referred to.
        let parent: Rows
        let rows: Rows
    }

    private var byGround: [Int64: Rows] = [:]
    private(set) var changes: [Change] = []

    /// Follows the foreign keys down from the rows of a batch.
    init(
        from ground: PurgeGround,
        of table: PurgeTable,
        places: [String],
        _ graph: ReferenceGraph,
        _ tables: [Int64: PurgeTable],
        _ connection: Connection
    ) throws {
        let first = Rows(table: table, ground: ground, places: Set(places))
        byGround[ground.oid] = first
        var waiting = [first]
        while let parent = waiting.popLast(), !parent.places.isEmpty {
            for reference in graph.referring(to: parent.table.oid)
            where !reference.action.keepsParent {
                guard
                    reference.parentOID == parent.table.oid
                        || reference.parentOID == parent.ground.oid,
                    let child = tables[reference.childOID]
                else { continue }
                for rows in try Self.rows(of: child, reference, parent, connection) {
                    if reference.action == .cascade {
                        waiting.append(add(rows))
                    } else {
                        changes.append(Change(reference: reference, parent: parent, rows: rows))
                    }
                }
            }
        }
        dropChangesOfDeleted()
    }

    /// The rows of a table, one element for each of its partitions.
    func rows(of table: Int64) -> [Rows] {
        byGround.values.filter { $0.table.oid == table }.sorted { $0.ground.oid < $1.ground.oid }
    }

    /// Adds rows, and returns those of them that are new.
    private mutating func add(_ rows: Rows) -> Rows {
        let known = byGround[rows.ground.oid]?.places ?? []
        var fresh = rows
        fresh.places.subtract(known)
        var all = rows
        all.places.formUnion(known)
        byGround[rows.ground.oid] = all
        return fresh
    }

    private mutating func dropChangesOfDeleted() {
        changes = changes.compactMap { change in
            withoutDeleted(change.rows, in: change)
        }
    }

    /// The same change of the same rows, where another one has moved some of them.
    func again(_ change: Change, _ connection: Connection) throws -> Change? {
        let found = try Self.rows(
            of: change.rows.table,
            change.reference,
            change.parent,
            connection
        )
        return found.first { $0.ground.oid == change.rows.ground.oid }.flatMap {
            withoutDeleted($0, in: change)
        }
    }

    private func withoutDeleted(_ rows: Rows, in change: Change) -> Change? {
        var rows = rows
        rows.places.subtract(byGround[rows.ground.oid]?.places ?? [])
        return rows.places.isEmpty
            ? nil : Change(reference: change.reference, parent: change.parent, rows: rows)
    }

    private static func rows(
        of child: PurgeTable,
        _ reference: Reference,
        _ parent: Rows,
        _ connection: Connection
    ) throws -> [Rows] {
        let found = try connection.query(
            SQL(
                unsafe: """
                    select c.tableoid::bigint, pg_catalog.json_agg(c.ctid::text)::text
                    from (
                        select c.tableoid, c.ctid from \(reference.scanned) c
                        where exists (
                            select from \(parent.ground.source) p
                            where p.ctid = any (\(parent.placeList)) and \(reference.matches(parent: "p", child: "c")))
                        for update of c) as c
                    group by c.tableoid
                    """
            )
        )
        return try (0..<found.count).map { row in
            let places: [String] = try found.required(row, 1, as: JSONText.self).decode()
            return Rows(
                table: child,
                ground: try PurgeGround(found.required(row, 0), of: child, connection),
                places: Set(places)
            )
        }
    }
}

extension FoundRows.Rows {
    /// The places as an SQL array.
    var placeList: String {
        "'{" + places.map { "\"\($0)\"" }.joined(separator: ",") + "}'::tid[]"
    }
}
