internal import Bulkhead
internal import Postgres

/// How the rows of one file get into the table.
struct ImportPlan {
    let target: ImportTarget
    /// The columns that the file fills, in the order in which its rows are written.
    let columns: [ImportTarget.Column]
    let policy: MergePolicy
    /// What decides what a conflict is.
    let key: ConflictKey
    /// The columns of a stored row that the policy may change.
    let changeable: [ImportTarget.Column]
    /// Whether a row may say nothing of a column that others fill.
    let mayMissKeys: Bool
    /// How the reader writes rows.
    let layout: ImportReader.Layout
    /// Whether a statement that moves rows can hand back their keys, and is to publish them.
    let returnsKeys: Bool
    /// Whether COPY may go straight into the table: then the server hands back no keys, so the file must
    /// hold them as they will be stored.
    let isDirect: Bool
    /// Which of the file's fields goes to which column; nil for one that is left out.
    let mapping: [ImportReport.Field]
    /// How values are to be understood, where that is not what the session says.
    let valueSettings: [(name: String, value: String)]
    /// The temporary table.
    ///
    /// No digits: the line of a bad value is read from COPY's context, by its digits.
    let stage: String

    /// Brings the fields of a file and the columns of the table together.
    ///
    /// `names` are those in the file's header or given in its place, nil without any; `file` is the
    /// file's number, from 0.
    ///
    /// - Throws: `JobFailure` when they do not fit, or the role may not do what is needed.
    init(
        _ target: ImportTarget,
        _ arguments: ImportArguments,
        names: [String]?,
        file: Int,
        _ connection: Connection
    ) throws {
        self.target = target
        policy = arguments.onConflict ?? .error
        let mapping = try Self.mapping(target, arguments, names)
        columns = mapping.columns.compactMap(target.column)
        mayMissKeys = arguments.isJSON
        key =
            target.facts.isView
            ? .none
            : try ConflictKey(target, names: arguments.key, policy: policy, connection)
        changeable = Self.changeable(policy, columns, key, target)
        let fieldOf = Dictionary(
            zip(mapping.columns, mapping.fields).map { ($0, $1) },
            uniquingKeysWith: { first, _ in first }
        )
        let keyFields = target.primaryKey.compactMap { column in
            fieldOf[column.name].map { (column: column, field: $0) }
        }
        let feedKey = keyFields.count == target.primaryKey.count ? FeedKey(keyFields) : nil
        let facts = target.facts
        returnsKeys =
            !facts.hasRules && !facts.isView && !facts.isTracked && !target.primaryKey.isEmpty
            && target.primaryKey.allSatisfy(\.isReadable)
        // Defaults are not to be read as the file's values are.
        let hasOwnSettings = arguments.timezone != nil || arguments.dateOrder != nil
        isDirect =
            policy == .error && feedKey != nil && !facts.isView && !facts.hasTriggers
            && !facts.hasRules && !facts.hasRowSecurity
            && !(hasOwnSettings && columns.count < target.columns.count)
        layout = ImportReader.Layout(
            encoder: try Self.encoder(target, arguments, mapping, connection),
            fieldNames: Self.fieldNames(mapping, names),
            feedKey: isDirect && !target.primaryKey.isEmpty ? feedKey : nil
        )
        self.mapping = Self.fields(mapping, names)
        var settings: [(name: String, value: String)] = []
        if let timezone = arguments.timezone { settings.append(("TimeZone", timezone)) }
        if let order = arguments.dateOrder {
            settings.append(("DateStyle", "ISO, \(order.rawValue)"))
        }
        valueSettings = settings
        stage = "bulkhead_stage_" + Self.letters(file)
        try checkPrivileges()
    }

    private static func mapping(
        _ target: ImportTarget,
        _ arguments: ImportArguments,
        _ names: [String]?
    ) throws -> ColumnMapping {
        let table = target.columns.map {
            TableColumn($0.name, isRequired: $0.isRequired, isGenerated: $0.refusal != nil)
        }
        do {
            guard !arguments.isJSON else {
                return try ColumnMapping(names: nil, table: target.tableForJSON)
            }
            return try ColumnMapping(names: names, renames: arguments.renames, table: table)
        } catch {
            throw JobFailure("\(target.name): \(error)")
        }
    }

    private static func encoder(
        _ target: ImportTarget,
        _ arguments: ImportArguments,
        _ mapping: ColumnMapping,
        _ connection: Connection
    ) throws -> any RowEncoder {
        guard !arguments.isJSON else {
            return try target.jsonEncoder(mapping.columns, arguments.renames, connection)
        }
        return CopyTextEncoder(
            dialect: try arguments.dialect(),
            columns: mapping.fields,
            fieldCount: mapping.fieldCount
        )
    }

    /// What the role needs, looked at before the first row.
    private func checkPrivileges() throws {
        if !isDirect, !valueSettings.isEmpty, !target.facts.mayMakeTemporaryTables {
            throw JobFailure(
                "the daemon's role may not make temporary tables, without which the database's own values would be "
                    + "read with the timezone or date order of the file: grant temporary on the database",
                sqlstate: "42501"
            )
        }
        // Lines of JSON that may not name the key could never find a stored row.
        let filled = columns + (policy.changesRows ? key.columns : [])
        if let column = filled.first(where: { !$0.isInsertable }) {
            throw JobFailure(
                "the daemon's role may not insert into column \(column.name) of \(target.name): "
                    + "grant insert on it",
                sqlstate: "42501"
            )
        }
        if let column = filled.first(where: { !$0.maySetSequence }), let sequence = column.sequence
        {
            throw JobFailure(
                "the daemon's role may not move \(sequence), the sequence of column \(column.name) of "
                    + "\(target.name), past the file's values: grant usage and update on it",
                sqlstate: "42501"
            )
        }
        guard policy != .error else { return }
        if target.facts.isView || target.facts.hasRules {
            throw JobFailure(
                "\(target.name) \(target.facts.isView ? "is a view" : "has rules"), which the server does not "
                    + "combine with --on-conflict \(policy.rawValue): import with --on-conflict error",
                sqlstate: "0A000"
            )
        }
        if policy.changesRows, let column = key.columns.first(where: { !columns.contains($0) }) {
            throw JobFailure(
                "the file has no column \(column.name), which decides what a conflict is: without it no row of "
                    + "\(target.name) can be found again"
            )
        }
        // ON CONFLICT reads these.
        let compared = policy.changesRows ? key.columns + changeable : key.columns
        if let column = compared.first(where: { !$0.isReadable }) {
            throw JobFailure(
                "the daemon's role may not read column \(column.name) of \(target.name): grant select on it",
                sqlstate: "42501"
            )
        }
        if let column = changeable.first(where: { !$0.isUpdatable }) {
            throw JobFailure(
                "the daemon's role may not update column \(column.name) of \(target.name): grant update on it",
                sqlstate: "42501"
            )
        }
    }

    /// The key stays, and what generates itself; `replace` keeps all that a sequence or a key tells apart.
    private static func changeable(
        _ policy: MergePolicy,
        _ columns: [ImportTarget.Column],
        _ key: ConflictKey,
        _ target: ImportTarget
    ) -> [ImportTarget.Column] {
        switch policy {
        case .error, .skip: []
        case .fill, .update: columns.filter { !key.columns.contains($0) }
        case .replace:
            target.columns.filter { column in
                column.refusal == nil && !column.isSerial && !key.columns.contains(column)
                    && !target.primaryKey.contains(column)
            }
        }
    }

    /// Whether a stored row may get another primary key: then its old one is not known afterwards.
    var mayChangeKeys: Bool { changeable.contains(where: target.primaryKey.contains) }

    /// How a staged row calls a column that the file fills.
    func stagedName(_ column: ImportTarget.Column) -> String {
        columns.firstIndex(of: column).map { "s.bulkhead_c\($0 + 1)" } ?? "null"
    }

    private static func fields(_ mapping: ColumnMapping, _ names: [String]?)
        -> [ImportReport.Field]
    {
        let columnOf = Dictionary(
            zip(mapping.fields, mapping.columns).map { ($0, $1) },
            uniquingKeysWith: { first, _ in first }
        )
        return fieldNames(mapping, names).enumerated().map { field, name in
            ImportReport.Field(field: name, column: columnOf[field])
        }
    }

    private static func fieldNames(_ mapping: ColumnMapping, _ names: [String]?) -> [String] {
        if let names { return names }
        var result = [String](repeating: "", count: mapping.fieldCount)
        for (field, column) in zip(mapping.fields, mapping.columns) { result[field] = column }
        return result
    }

    private static func letters(_ number: Int) -> String {
        String(
            String(number).map {
                Character(UnicodeScalar(UInt8(ascii: "a") + UInt8($0.wholeNumberValue ?? 0)))
            }
        )
    }
}
