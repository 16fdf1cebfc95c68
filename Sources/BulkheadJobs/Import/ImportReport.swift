/// An import's result: what became of its rows, and for a dry run how the files fit the table.
struct ImportReport: Codable, Equatable {
    var totals = ImportTotals()
    /// Which field of which file goes where; nil unless it is a dry run.
    var mapping: [Mapping]?

    /// How the fields of a file go to columns.
    struct Mapping: Codable, Equatable {
        let file: String
        let columns: [Field]
    }

    /// A field of a file and its column; nil for one that is left out.
    struct Field: Codable, Equatable {
        let field: String
        let column: String?

        init(field: String, column: String?) {
            self.field = field
            self.column = column
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(field, forKey: .field)
            // NULL, not absent: left out on purpose.
            try container.encode(column, forKey: .column)
        }
    }

    /// Nothing has been read.
    init() {}

    private enum CodingKeys: String, CodingKey {
        case isDryRun = "dry_run"
        case mapping
    }

    /// The figures stand beside the rest, not below a name of their own.
    init(from decoder: any Decoder) throws {
        totals = try ImportTotals(from: decoder)
        mapping = try decoder.container(keyedBy: CodingKeys.self)
            .decodeIfPresent([Mapping].self, forKey: .mapping)
    }

    func encode(to encoder: any Encoder) throws {
        try totals.encode(to: encoder)
        guard let mapping else { return }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(true, forKey: .isDryRun)
        try container.encode(mapping, forKey: .mapping)
    }
}
