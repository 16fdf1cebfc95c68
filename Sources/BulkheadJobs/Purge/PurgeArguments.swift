internal import Bulkhead

/// What a purge is to do: the `args` of its job, under the names of `bulkhead.purge`.
struct PurgeArguments: Decodable {
    var tableName: String
    var condition: String?
    var columnName: String?
    var olderThan: String?
    var allRows: Bool?
    var archiveTable: String?
    var archiveFile: String?
    var maxRows: Int64?
    var batch: Int?
    var force: Bool?
    var dropPartitions: Bool?
    var vacuum: Bool?
    var timezone: String?
    var dryRun: Bool?
    var searchPath: [String]?

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case tableName = "table_name"
        case condition
        case columnName = "column_name"
        case olderThan = "older_than"
        case allRows = "all_rows"
        case archiveTable = "archive_table"
        case archiveFile = "archive_file"
        case maxRows = "max_rows"
        case batch, force
        case dropPartitions = "drop_partitions"
        case vacuum, timezone
        case dryRun = "dry_run"
        case searchPath = "search_path"
    }

    /// Reads the args of a job; an argument that is unknown is refused, never ignored.
    ///
    /// - Throws: `JobFailure`.
    init(_ args: JSONText) throws {
        self = try args.decodeArguments(
            of: "bulkhead.purge",
            names: CodingKeys.allCases.map(\.rawValue)
        )
        if let wrong { throw JobFailure(wrong) }
    }

    /// What is wrong with the values; they may have come by another way than `bulkhead.purge`.
    private var wrong: String? {
        let isStructured = columnName != nil && olderThan != nil
        if [condition != nil, isStructured, allRows == true].count(where: \.self) != 1 {
            return
                "a purge needs a condition, or column_name and older_than, or all_rows: one of them"
        }
        if archiveTable != nil, archiveFile != nil { return "give one archive, not two" }
        if maxRows.map({ $0 < 1 }) == true { return "max_rows must be at least 1" }
        if batch.map({ !(1...1_000_000).contains($0) }) == true {
            return "batch must be between 1 and 1000000"
        }
        if dropPartitions == true, !isStructured || archives || maxRows != nil {
            return "drop_partitions needs column_name and older_than, and no archive or max_rows"
        }
        return nil
    }

    /// What a batch may take where its size is chosen by the time that it takes.
    static let usualBatch = 10_000

    /// Whether rows are copied before they go.
    var archives: Bool { archiveTable != nil || archiveFile != nil }
}
