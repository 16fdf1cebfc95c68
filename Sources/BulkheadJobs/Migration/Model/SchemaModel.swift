/// The tables of one schema, declared or as they are: what a model file holds.
public struct SchemaModel: Codable, Equatable, Sendable {
    /// The schema's name.
    public var schema: String
    /// The tables by their names.
    public var tables: [String: TableModel]

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case schema, tables
    }

    init(schema: String, tables: [String: TableModel]) {
        self.schema = schema
        self.tables = tables
    }

    /// Reads a model; a name that is unknown is refused, never ignored.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        try decoder.requireKnown(CodingKeys.allCases)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        schema = try container.decodeIfPresent(String.self, forKey: .schema) ?? "public"
        tables = try container.decode([String: TableModel].self, forKey: .tables)
    }
}

/// A table of a model.
public struct TableModel: Codable, Equatable, Sendable {
    /// The columns in their order.
    var columns: [ColumnModel]
    /// Constraints by their names, as they stand behind `add constraint NAME`.
    var constraints: [String: String]
    /// Indexes by their names, as they stand behind `create index NAME on TABLE`, with `unique` in front where
    /// they are.
    var indexes: [String: String]
    /// What the table was called before.
    var renamedFrom: String?

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case columns, constraints, indexes
        case renamedFrom = "renamed_from"
    }

    init(columns: [ColumnModel], constraints: [String: String], indexes: [String: String]) {
        self.columns = columns
        self.constraints = constraints
        self.indexes = indexes
    }

    /// Reads a table; a name that is unknown is refused, never ignored.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        try decoder.requireKnown(CodingKeys.allCases)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        columns = try container.decode([ColumnModel].self, forKey: .columns)
        constraints =
            try container.decodeIfPresent([String: String].self, forKey: .constraints) ?? [:]
        indexes = try container.decodeIfPresent([String: String].self, forKey: .indexes) ?? [:]
        renamedFrom = try container.decodeIfPresent(String.self, forKey: .renamedFrom)
    }

    func column(_ name: String) -> ColumnModel? {
        columns.first { $0.name == name }
    }
}

/// A column of a model.
public struct ColumnModel: Codable, Equatable, Sendable {
    var name: String
    /// With its modifier and, where it is not the type's, its collation, as SQL.
    var type: String
    /// Whether it is NOT NULL.
    var isRequired: Bool
    /// As SQL.
    var defaultValue: String?
    /// `always` or `by default`.
    var identity: String?
    /// The expression of a stored generated column, as SQL.
    var generated: String?
    /// Whether a sequence of its own gives its values, as with serial.
    var isSerial: Bool
    /// What the column was called before.
    var renamedFrom: String?
    /// What rows that are there get where they have no value yet, as SQL over the row.
    var backfill: String?

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case name, type
        case isRequired = "required"
        case defaultValue = "default"
        case identity, generated
        case isSerial = "serial"
        case renamedFrom = "renamed_from"
        case backfill
    }

    init(name: String, type: String, isRequired: Bool) {
        self.name = name
        self.type = type
        self.isRequired = isRequired
        isSerial = false
    }

    /// Reads a column; a name that is unknown is refused, never ignored.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        try decoder.requireKnown(CodingKeys.allCases)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        name = try container.decode(String.self, forKey: .name)
        type = try container.decode(String.self, forKey: .type)
        isRequired = try container.decodeIfPresent(Bool.self, forKey: .isRequired) ?? false
        defaultValue = try container.decodeIfPresent(String.self, forKey: .defaultValue)
        identity = try container.decodeIfPresent(String.self, forKey: .identity)
        generated = try container.decodeIfPresent(String.self, forKey: .generated)
        isSerial = try container.decodeIfPresent(Bool.self, forKey: .isSerial) ?? false
        renamedFrom = try container.decodeIfPresent(String.self, forKey: .renamedFrom)
        backfill = try container.decodeIfPresent(String.self, forKey: .backfill)
        if let identity, identity != "always", identity != "by default" {
            throw DecodingError.dataCorruptedError(
                forKey: .identity,
                in: container,
                debugDescription: "identity is always or by default, not \(identity)"
            )
        }
    }

    /// Writes what is not as usual.
    ///
    /// - Throws: `EncodingError`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(type, forKey: .type)
        if isRequired { try container.encode(true, forKey: .isRequired) }
        try container.encodeIfPresent(defaultValue, forKey: .defaultValue)
        try container.encodeIfPresent(identity, forKey: .identity)
        try container.encodeIfPresent(generated, forKey: .generated)
        if isSerial { try container.encode(true, forKey: .isSerial) }
        try container.encodeIfPresent(renamedFrom, forKey: .renamedFrom)
        try container.encodeIfPresent(backfill, forKey: .backfill)
    }
}

private struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension Decoder {
    fileprivate func requireKnown<Key: CodingKey>(_ known: [Key]) throws {
        let container = try container(keyedBy: AnyKey.self)
        let names = known.map(\.stringValue)
        guard let unknown = container.allKeys.first(where: { !names.contains($0.stringValue) })
        else { return }
        throw DecodingError.dataCorrupted(
            DecodingError.Context(
                codingPath: codingPath,
                debugDescription:
                    "unknown name \(unknown.stringValue): it takes \(names.joined(separator: ", "))"
            )
        )
    }
}
