internal import Bulkhead
internal import Postgres

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
