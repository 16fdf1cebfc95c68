/// What a dry run of a purge found: the `result` of its job.
struct PurgePreview: Encodable {
    let condition: String
    /// By the server's estimate.
    let rows: Int64
    let batches: Int64
    let tables: [Walked]
    let statement: String?
    /// The server's plan for finding the rows.
    let plan: [String]
    let references: [Referring]
    let archive: Kept?
    /// What would fail the purge before its first row.
    let problems: [String]

    struct Walked: Encodable {
        let table: String
        let way: String
    }

    struct Referring: Encodable {
        let table: String
        let constraint: String
        let onDelete: String
        let isIndexed: Bool
        let isTracked: Bool

        init(_ reference: Reference) {
            table = reference.child
            constraint = reference.constraint
            onDelete = reference.action.words
            isIndexed = reference.facts.isIndexed
            isTracked = reference.facts.isTracked
        }

        private enum CodingKeys: String, CodingKey {
            case table, constraint
            case onDelete = "on_delete"
            case isIndexed = "indexed"
            case isTracked = "tracked"
        }
    }

    struct Kept: Encodable {
        let place: String
        /// Tables whose rows go along and are archived too.
        let alsoFrom: [String]

        private enum CodingKeys: String, CodingKey {
            case place
            case alsoFrom = "also_from"
        }
    }

    private enum CodingKeys: String, CodingKey {
        case isDryRun = "dry_run"
        case condition, rows, batches, tables, statement, plan, references, archive, problems
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(true, forKey: .isDryRun)
        try container.encode(condition, forKey: .condition)
        try container.encode(rows, forKey: .rows)
        try container.encode(batches, forKey: .batches)
        try container.encode(tables, forKey: .tables)
        try container.encode(statement, forKey: .statement)
        try container.encode(plan, forKey: .plan)
        try container.encode(references, forKey: .references)
        try container.encode(archive, forKey: .archive)
        try container.encode(problems, forKey: .problems)
    }
}
