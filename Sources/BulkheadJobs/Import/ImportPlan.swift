internal import Bulkhead
internal import Postgres

/// How the rows of one file get into the table.
struct ImportPlan {
    let target: ImportTarget
    /// The columns that the file fills, in the order in which its rows are written.
    let columns: [ImportTarget.Column]
    let policy: MergePolicy
    /// The columns that decide what a conflict is; empty when nothing does.
    let key: [ImportTarget.Column]
    /// How the reader writes rows.
    let layout: ImportReader.Layout
    /// Whether a statement that moves rows can hand back their keys.
    let returnsKeys: Bool
    /// Whether COPY may go straight into the table: then the server hands back no keys, so the file must
    /// hold them as they will be stored.
    let isDirect: Bool
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
        key = try Self.key(target, arguments, policy, connection)
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
            !facts.hasRules && !target.primaryKey.isEmpty
            && target.primaryKey.allSatisfy(\.isReadable)
        isDirect =
            policy == .error && feedKey != nil && !facts.hasTriggers && !facts.hasRules
            && !facts.hasRowSecurity && columns.allSatisfy { $0.sequence == nil }
        layout = ImportReader.Layout(
            encoder: try Self.encoder(target, arguments, mapping, connection),
            fieldNames: Self.fieldNames(mapping, names),
            feedKey: isDirect && !target.primaryKey.isEmpty ? feedKey : nil
        )
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

    private static func key(
        _ target: ImportTarget,
        _ arguments: ImportArguments,
        _ policy: MergePolicy,
        _ connection: Connection
    ) throws -> [ImportTarget.Column] {
        guard let names = arguments.key else {
            if policy == .error { return target.primaryKey }
            guard target.primaryKey.isEmpty else {
                return try checked(target.primaryKey, target, connection)
            }
            throw JobFailure(
                "\(target.name) has no primary key, so no row of it can conflict: "
                    + "name the columns of a unique index with --key"
            )
        }
        let columns = try names.map { name in
            guard let column = target.column(name) else {
                throw JobFailure("--key names \(name), which is not a column of \(target.name)")
            }
            return column
        }
        return try checked(columns, target, connection)
    }

    /// ON CONFLICT needs an index that decides at once, for all rows.
    private static func checked(
        _ columns: [ImportTarget.Column],
        _ target: ImportTarget,
        _ connection: Connection
    ) throws -> [ImportTarget.Column] {
        let names = columns.map(\.name)
        let index = try connection.query(
            """
            select from pg_catalog.pg_index i
            where i.indrelid = \(target.oid)::oid and i.indisunique and i.indisvalid and i.indimmediate
                and i.indpred is null and i.indexprs is null
                and (select pg_catalog.array_agg(a.attname::text order by a.attname::text)
                     from pg_catalog.pg_attribute a
                     where a.attrelid = i.indrelid
                       and a.attnum = any ((i.indkey::int2[])[0:i.indnkeyatts - 1]))
                    = (select pg_catalog.array_agg(k order by k) from pg_catalog.unnest(\(names)::text[]) k)
            """
        )
        guard !index.isEmpty else {
            throw JobFailure(
                "\(target.name) has no unique index over just (\(names.joined(separator: ", "))), neither partial "
                    + "nor deferrable, that could decide conflicts: create one, or name other columns with --key"
            )
        }
        return columns
    }

    /// What the role needs, looked at before the first row.
    private func checkPrivileges() throws {
        if let column = columns.first(where: { !$0.isInsertable }) {
            throw JobFailure(
                "the daemon's role may not insert into column \(column.name) of \(target.name): "
                    + "grant insert on it",
                sqlstate: "42501"
            )
        }
        if let column = columns.first(where: { !$0.maySetSequence }), let sequence = column.sequence
        {
            throw JobFailure(
                "the daemon's role may not move \(sequence), the sequence of column \(column.name) of "
                    + "\(target.name), past the file's values: grant usage and update on it",
                sqlstate: "42501"
            )
        }
        guard policy == .skip else { return }
        if target.facts.hasRules {
            throw JobFailure(
                "\(target.name) has rules, which the server does not combine with --on-conflict skip: "
                    + "drop them, or import with --on-conflict error",
                sqlstate: "0A000"
            )
        }
        // ON CONFLICT reads these.
        if let column = key.first(where: { !$0.isReadable }) {
            throw JobFailure(
                "the daemon's role may not read column \(column.name) of \(target.name): grant select on it",
                sqlstate: "42501"
            )
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
