internal import Bulkhead
internal import Postgres

/// Deletes a batch together with what its foreign keys would delete or change in other tables, so that all of it is
/// archived.
///
/// It goes down first and locks what it finds, so that nothing changes between the copy and the delete; then
/// it deletes from the leaves of the tree up, and the keys find nothing left to do.
final class CascadeRemover {
    private let graph: ReferenceGraph
    private let archive: Archive
    private let job: Int64
    /// The tables by their oids.
    private let tables: [Int64: PurgeTable]
    /// Tables before those that refer to them.
    private let order: [Int64]

    /// What the last batch took from other tables.
    private(set) var cascaded: Int64 = 0
    /// All that it archived.
    private(set) var archived: Int64 = 0

    /// Makes the archive's places for all tables that are touched.
    ///
    /// - Throws: `JobFailure` where not all that goes could be archived.
    init(
        _ table: PurgeTable,
        _ graph: ReferenceGraph,
        _ archive: Archive,
        _ arguments: PurgeArguments,
        job: Int64,
        _ connection: Connection
    ) throws {
        self.graph = graph
        self.archive = archive
        self.job = job
        order = try graph.order(of: table)
        var tables = [table.oid: table]
        for reference in graph.touched {
            try reference.requireArchivable(table)
            let child = try PurgeTable(connection, name: reference.child)
            tables[child.oid] = child
            guard child.facts.needsParent == nil, table.facts.needsParent == nil else {
                throw JobFailure(
                    "what a purge of \(table.name) takes from \(child.name) cannot be archived, since "
                        + "\(child.facts.needsParent ?? table.facts.needsParent ?? ""): purge without archive"
                )
            }
        }
        for reference in graph.all where !reference.action.keepsParent {
            guard let child = tables[reference.childOID],
                child.oid != table.oid || reference.action != .cascade
            else { continue }
            let isUpdate = reference.action != .cascade
            let source = Archive.Source(table: child.oid, key: isUpdate ? reference.id : nil)
            guard archive.target(source.table, setBy: source.key) == nil else { continue }
            try archive.add(
                source,
                like: PurgeGround(child.oid, of: child, connection),
                arguments,
                suffix: child.plainName + (isUpdate ? "_before" : ""),
                connection
            )
        }
        self.tables = tables
    }

    /// A try begins: what an earlier one counted was rolled back.
    func begin() {
        cascaded = 0
        archived = 0
    }

    /// Deletes the rows that a removal picks.
    func remove(_ removal: Removal, _ connection: Connection) throws -> RemovalOutcome {
        try archive.begin()
        let picked = try connection.query(
            SQL(
                unsafe: """
                    \(removal.lockingTables)
                    select (\(removal.summary))::text,
                        pg_catalog.array_to_json(array(select \(removal.rowPlace)::text from chosen))::text
                    """
            )
        )
        var outcome: RemovalOutcome = try picked.required(0, 0, as: JSONText.self).decode()
        guard let table = tables[order[0]] else { return outcome }
        let found = try FoundRows(
            from: removal.ground,
            of: table,
            places: picked.required(0, 1, as: JSONText.self).decode(),
            graph,
            tables,
            connection
        )
        let work = RowRemover(
            archive: archive,
            job: job,
            batch: removal.batch,
            connection: connection
        )
        // A restore brings back what is referred to first, and sets the columns last.
        let parts = order.flatMap { found.rows(of: $0) }
        var moved: Set<Int64> = []
        for (n, change) in found.changes.enumerated() {
            let isFirst = moved.insert(change.rows.ground.oid).inserted
            guard let change = isFirst ? change : try found.again(change, connection) else {
                continue
            }
            archived += try work.set(change, n: parts.count + n)
        }
        outcome.deleted = 0
        for (n, rows) in parts.enumerated().reversed() {
            let count = try work.delete(rows, n: n)
            archived += count
            if rows.ground.oid == removal.ground.oid {
                outcome.deleted = Int(count)
            } else {
                cascaded += count
            }
        }
        return outcome
    }
}
