internal import Bulkhead
internal import Postgres

/// Where the rows of a purge go, those of other tables that go with them too, and the record of it that a restore
/// follows.
final class Archive {
    private let job: Int64
    private let attempt: Int32
    private let root: ImportRoot
    private var targets: [Source: ArchiveTarget] = [:]

    /// What goes to one place of the archive: a table's rows, or those as they were before columns of them were
    /// set.
    struct Source: Hashable {
        /// The table's oid; of partitions the one of the table that they belong to.
        let table: Int64
        /// The foreign key by which columns were set, where they were: one row may let go of several.
        var key: Int64?
    }

    init(_ context: JobContext, _ root: ImportRoot) {
        job = context.job.id
        attempt = context.job.attempt
        self.root = root
    }

    /// Makes the place for a table's rows.
    ///
    /// - Parameters:
    ///   - source: Whose rows they are.
    ///   - ground: The table.
    ///   - arguments: Name the table or the file.
    ///   - suffix: Is appended to that name.
    ///   - connection: Is not in a transaction.
    /// - Throws: `JobFailure` or `ReadError` where that cannot be.
    func add(
        _ source: Source,
        like ground: PurgeGround,
        _ arguments: PurgeArguments,
        suffix: String?,
        _ connection: Connection
    ) throws {
        if let name = arguments.archiveTable {
            let name = try freeName(name, suffix, connection)
            targets[source] = .table(try ArchiveTable(name, for: ground, connection))
        } else {
            targets[source] = .file(try makeFile(arguments.archiveFile ?? "", suffix))
        }
    }

    /// A table's name that no other one of this purge has: tables of two schemas may share a name.
    private func freeName(_ name: String, _ suffix: String?, _ connection: Connection) throws
        -> String
    {
        var free = try ArchiveTable.name(name, suffix: suffix, connection)
        var number = 2
        while targets.values.contains(where: { $0.isTable(free) }) {
            let numbered = "\(number)" + (suffix.map { "_\($0)" } ?? "")
            free = try ArchiveTable.name(name, suffix: numbered, connection)
            number += 1
        }
        return free
    }

    /// Makes a file of a name that is free: an attempt that was handed back has the number of the next one.
    private func makeFile(_ name: String, _ suffix: String?) throws(ReadError) -> ArchiveFile {
        let base = name.dropLast(".jsonl.gz".count)
        let middle = suffix.map { ".\($0.split(separator: "/").joined(separator: "_"))" } ?? ""
        var number = attempt
        while true {
            do {
                return try ArchiveFile("\(base).\(job)-\(number)\(middle).jsonl.gz", in: root)
            } catch  where error.code == .taken {
                number += 1
            }
        }
    }

    /// Where the rows of a table go.
    func target(_ table: Int64, setBy key: Int64? = nil) -> ArchiveTarget? {
        targets[Source(table: table, key: key)]
    }

    // MARK: A batch

    /// A try at a batch begins.
    func begin() throws {
        for case .file(let file) in targets.values { try file.begin() }
    }

    /// Records what a batch has archived of one table, in its own transaction.
    ///
    /// `table` is what a restore fills, and `n` the place among the batch's blocks in which it takes this one.
    ///
    /// - Returns: How many rows it was.
    /// - Throws: What the server or the disk says.
    @discardableResult
    func record(
        _ rows: Int64,
        in target: ArchiveTarget,
        of table: String,
        columns: [String],
        isUpdate: Bool = false,
        n: Int,
        batch number: Int64,
        _ connection: Connection
    ) throws -> Int64 {
        let operation = isUpdate ? "update" : "delete"
        switch target {
        case .table(let archive):
            guard rows > 0 else { return 0 }
            try connection.query(
                """
                insert into bulkhead.archive_block (job, batch, n, relation, operation, columns, archive, rows)
                values (\(job), \(number), \(n), \(table), \(operation), \(columns), \(archive.name), \(rows))
                """
            )
            return rows
        case .file(let file):
            guard let block = try file.finish() else { return 0 }
            try connection.query(
                """
                insert into bulkhead.archive_block (job, batch, n, relation, operation, columns, file, host,
                    byte_offset, bytes, checksum, rows)
                select \(job), \(number), \(n), \(table), \(operation), \(columns), \(file.name), j.host,
                    \(block.offset), \(block.bytes), \(block.checksum), \(block.rows)
                from bulkhead.job j where j.id = \(job)
                """
            )
            return block.rows
        }
    }

    /// The batch is committed.
    func keep() {
        for case .file(let file) in targets.values { file.keep() }
    }

    /// Nothing more comes.
    func close() throws {
        for case .file(let file) in targets.values { try file.begin() }
    }
}
