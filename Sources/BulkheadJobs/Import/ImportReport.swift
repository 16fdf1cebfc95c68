/// What a dry run found: the job's result.
struct ImportReport: Encodable {
    let totals: ImportTotals
    let mapping: [Mapping]

    /// Which field of a file goes to which column; nil for one that is left out.
    struct Mapping: Encodable {
        let file: String
        let columns: [Field]
    }

    struct Field: Encodable, Equatable {
        let field: String
        let column: String?

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(field, forKey: .field)
            // NULL, not absent: left out on purpose.
            try container.encode(column, forKey: .column)
        }

        private enum CodingKeys: String, CodingKey {
            case field, column
        }
    }

    private enum CodingKeys: String, CodingKey {
        case isDryRun = "dry_run"
        case mapping
    }

    func encode(to encoder: any Encoder) throws {
        try totals.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(true, forKey: .isDryRun)
        try container.encode(mapping, forKey: .mapping)
    }
}
