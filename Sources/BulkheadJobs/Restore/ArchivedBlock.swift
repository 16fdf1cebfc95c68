internal import Bulkhead
internal import Postgres

/// A block of an archive: what one batch of a purge took from one table.
struct ArchivedBlock {
    let job: Int64
    let batch: Int64
    let n: Int32
    /// The table, quoted for SQL.
    let relation: String
    /// Whether it holds rows as they were before some of their columns were set.
    let isUpdate: Bool
    /// The columns that it holds, or those that were set, quoted for SQL.
    let columns: [String]
    let place: Place

    enum Place {
        case table(String)
        case file(String, offset: Int64, bytes: Int64, checksum: Int64)
    }

    /// The tables that a purge took rows from.
    static func tables(job: Int64, _ connection: Connection) throws -> [String] {
        let rows = try connection.query(
            "select distinct relation from bulkhead.archive_block where job = \(job)"
        )
        return try (0..<rows.count).map { try rows.required($0, 0) }
    }

    /// The blocks of a batch, in the order in which they go back; nobody else brings them back meanwhile.
    static func unrestored(
        job: Int64,
        batch: Int64,
        _ connection: Connection
    ) throws -> [ArchivedBlock] {
        let rows = try connection.query(
            """
            select n, relation, operation = 'update', pg_catalog.to_json(columns)::text, archive, file, byte_offset,
                bytes, checksum
            from bulkhead.archive_block
            where job = \(job) and batch = \(batch) and restored_by is null
            order by n for update
            """
        )
        return try (0..<rows.count).map { row in
            let table: String? = try rows.value(row, 4)
            return ArchivedBlock(
                job: job,
                batch: batch,
                n: try rows.required(row, 0),
                relation: try rows.required(row, 1),
                isUpdate: try rows.required(row, 2),
                columns: try rows.required(row, 3, as: JSONText.self).decode(),
                place: try table.map { .table($0) }
                    ?? .file(
                        try rows.required(row, 5),
                        offset: try rows.required(row, 6),
                        bytes: try rows.required(row, 7),
                        checksum: try rows.required(row, 8)
                    )
            )
        }
    }
}
