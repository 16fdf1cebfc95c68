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
        isDirect =
            policy == .error && feedKey != nil && !facts.hasTriggers && !facts.hasRules
            && !facts.hasRowSecurity && columns.allSatisfy { $0.sequence == nil }
        layout = ImportReader.Layout(
            encoder: CopyTextEncoder(
                dialect: try arguments.dialect(),
                columns: mapping.fields,
                fieldCount: mapping.fieldCount
            ),
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
        let renames = (arguments.map ?? [:]).sorted { $0.key < $1.key }.map {
            ColumnRename($0.key, to: $0.value.isEmpty ? nil : $0.value)
        }
        do {
            return try ColumnMapping(names: names, renames: renames, table: table)
        } catch {
            throw JobFailure("\(target.name): \(error)")
        }
    }

    private static func key(
        _ target: ImportTarget,
        _ arguments: ImportArguments,
        _ policy: MergePolicy,
        _ connection: Connection
    ) throws -> [ImportTarget.Column] {
        guard let names = arguments.key else {
            if policy == .error || !target.primaryKey.isEmpty { return target.primaryKey }
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
                "\(target.name) has no unique index over just (\(names.joined(separator: ", "))) that could "
                    + "decide conflicts: create one, or name other columns with --key"
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
        guard !isDirect else { return }
        // RETURNING and ON CONFLICT read these.
        if let column = (key + target.primaryKey).first(where: { !$0.isReadable }) {
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

// MARK: SQL

extension ImportPlan {
    private var columnList: String {
        columns.map { quoted(identifier: $0.name) }.joined(separator: ", ")
    }

    /// Straight into the table.
    var copyIntoTarget: SQL {
        SQL(unsafe: "copy \(target.name) (\(columnList)) from stdin")
    }

    /// The temporary table takes the values as the table's types, so that a bad one is refused with its
    /// line and column; rows are numbered to be found again.
    var createStage: String {
        let columns = columns.enumerated().map { "bulkhead_c\($0.offset + 1) \($0.element.type)" }
        return """
            create temporary table if not exists pg_temp.\(stage)
            (bulkhead_n int, \(columns.joined(separator: ", "))) on commit delete rows
            """
    }

    var copyIntoStage: SQL {
        SQL(unsafe: "copy pg_temp.\(stage) from stdin")
    }

    /// Moves staged rows of a range into the table and publishes their keys; returns how many went in.
    func insertStaged(_ rows: ClosedRange<Int>, job: Int64) -> SQL {
        let staged = columns.indices.map { "bulkhead_c\($0 + 1)" }.joined(separator: ", ")
        let conflict =
            policy == .skip
            ? "on conflict (\(key.map { quoted(identifier: $0.name) }.joined(separator: ", "))) do nothing"
            : ""
        return """
            with inserted as (
                insert into \(unsafe: target.name) (\(unsafe: columnList))
                select \(unsafe: staged) from \(unsafe: "pg_temp.\(stage)")
                where bulkhead_n between \(rows.lowerBound) and \(rows.upperBound)
                order by bulkhead_n
                \(unsafe: conflict)
                returning \(unsafe: feedID) as id
            ), numbered as (
                select id, (pg_catalog.row_number() over () - 1) / 10000 as part from inserted
            ), published as (
                insert into bulkhead.change (relation, operation, ids, job)
                select \(target.relation), 'insert', \(unsafe: feedIDs), \(job) from numbered group by part
            )
            select count(*) from inserted
            """
    }

    private var feedID: String {
        let values = target.primaryKey.map(\.feedValue)
        switch values.count {
        case 0: return "null::jsonb"
        case 1: return values[0]
        default: return "pg_catalog.jsonb_build_array(\(values.joined(separator: ", ")))"
        }
    }

    private var feedIDs: String {
        target.primaryKey.isEmpty ? "null" : "pg_catalog.jsonb_agg(id)"
    }
}
