internal import Bulkhead
internal import Postgres

/// Deletes or changes rows by their places, and archives them in the same statement.
struct RowRemover {
    let archive: Archive
    let job: Int64
    let batch: Int64
    let connection: Connection

    /// Deletes rows.
    ///
    /// - Returns: How many rows were deleted.
    func delete(_ rows: FoundRows.Rows, n: Int) throws -> Int64 {
        let ground = rows.ground
        guard let target = archive.target(rows.table.oid) else { return 0 }
        let columns = ground.columns.map { "t.\($0.name)" }.joined(separator: ", ")
        let tables = """
            with gone as (
                delete from \(ground.source) t where t.ctid = any (\(rows.placeList)) returning \(columns)
            ), told as (\(ground.feed.change(.delete, from: "gone", job: job)))
            """
        let count = try run(tables, rows: "gone", of: ground, into: target)
        return try archive.record(
            count,
            in: target,
            of: ground.restored(in: rows.table),
            columns: ground.columns.map(\.name),
            n: n,
            batch: batch,
            connection
        )
    }

    /// Sets the columns of a foreign key as its action would.
    ///
    /// - Returns: How many rows were archived as they were.
    func set(_ change: FoundRows.Change, n: Int) throws -> Int64 {
        let ground = change.rows.ground
        let table = change.rows.table.oid
        guard let target = archive.target(table, setBy: change.reference.id) else { return 0 }
        let columns = ground.columns.map { "t.\($0.name)" }.joined(separator: ", ")
        let value = change.reference.action == .setNull ? "null" : "default"
        let set = change.reference.setColumns.map { "\($0) = \(value)" }.joined(separator: ", ")
        let places = change.rows.placeList
        let key = ground.keyColumns.map { "t.\($0)" }.joined(separator: ", ")
        let tables = """
            with was as materialized (
                select \(columns) from \(ground.source) t where t.ctid = any (\(places))
            ), changed as (
                update \(ground.source) t set \(set) where t.ctid = any (\(places)) returning \(key)
            ), told as (\(ground.feed.change(.update, from: "changed", job: job)))
            """
        let count = try run(tables, rows: "was", of: ground, into: target)
        return try archive.record(
            count,
            in: target,
            of: ground.restored(in: change.rows.table),
            columns: change.reference.setColumns,
            isUpdate: true,
            n: n,
            batch: batch,
            connection
        )
    }

    private func run(
        _ tables: String,
        rows: String,
        of ground: PurgeGround,
        into target: ArchiveTarget
    ) throws -> Int64 {
        let summary = "pg_catalog.json_build_array((select count(*) from \(rows)))"
        let document: JSONText
        switch target {
        case .table(let table):
            let kept = table.insertion(of: ground.columns, from: rows, job: job, batch: batch)
            document = try connection.query(
                SQL(unsafe: "\(tables), kept as (\(kept)) select \(summary)::text")
            ).required(0, 0)
        case .file(let file):
            document = try file.copy(
                tables,
                rows: rows,
                ground.columns,
                summary: summary,
                connection
            )
        }
        return try document.decode([Int64].self).first ?? 0
    }
}
