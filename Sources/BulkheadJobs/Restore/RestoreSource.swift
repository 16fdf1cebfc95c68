internal import Bulkhead
internal import Postgres

/// The rows of an archived block, and the table that they go back to, as it is now.
struct RestoreSource {
    let block: ArchivedBlock
    let ground: PurgeGround
    /// The columns that are brought back.
    let columns: [ArchivedColumn]
    /// The archived rows, as SQL behind FROM.
    let rows: String

    /// Looks at the table, and reads the block if it lies in a file.
    ///
    /// - Throws: `JobFailure` when the rows do not fit any more; `ReadError` when the file cannot be read.
    init(_ block: ArchivedBlock, _ root: ImportRoot, _ connection: Connection) throws {
        self.block = block
        let table = try PurgeTable(connection, name: block.relation)
        let ground = try PurgeGround(table.oid, of: table, connection)
        self.ground = ground
        columns = ground.columns.filter { !$0.isGenerated && block.columns.contains($0.name) }
        let gone = block.columns.filter { name in !ground.columns.contains { $0.name == name } }
        guard gone.isEmpty else {
            throw JobFailure(
                "\(block.relation) has no column \(gone.joined(separator: ", ")) any more, and the archive has: "
                    + "add it, or import the archive by hand"
            )
        }
        let needed = ground.columns.filter { column in
            !column.isGenerated && block.columns.contains(column.name)
                || ground.keyColumns.contains(column.name)
        }
        rows = try Self.rows(block, needed, root, connection)
    }

    private static func rows(
        _ block: ArchivedBlock,
        _ columns: [ArchivedColumn],
        _ root: ImportRoot,
        _ connection: Connection
    ) throws -> String {
        switch block.place {
        case .table(let name):
            let list = columns.map { "a.\($0.name)" }.joined(separator: ", ")
            return "(select \(list) from \(name) a where \(block.marks("a")))"
        case .file(let name, let offset, let bytes, let checksum):
            let file = try BlockFile(name, in: root)
            try file.stage(offset: offset, bytes: bytes, checksum: checksum, connection)
            let list = columns.map { $0.value(in: "l.line") }.joined(separator: ", ")
            return "(select \(list) from \(BlockFile.stage) l)"
        }
    }
}

extension ArchivedBlock {
    /// Finds the block's rows in its archive table, as SQL.
    func marks(_ alias: String) -> String {
        "\(alias).purged_by = \(job) and \(alias).purged_batch = \(batch)"
    }
}
