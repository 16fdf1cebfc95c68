internal import Bulkhead
internal import Postgres

/// The statement that moves staged rows into the table as the policy says, and publishes their keys where it
/// knows them.
///
/// The server finds a stored row by the key's own index, one probe for each row: a join could be planned as
/// a scan of the whole table, for every batch.
struct MergeStatement {
    private let plan: ImportPlan
    /// The columns that it fills, by their positions.
    private let filled: [Int]
    /// Those of them of which some rows say nothing.
    private let partial: Set<Int>
    private let changeable: [ImportTarget.Column]
    private let trace: String?

    /// With a trace, a sequence is set to the number of each row, and one, before the row is moved.
    init(_ plan: ImportPlan, missing: MissingKeys, trace: String?) {
        self.plan = plan
        self.trace = trace
        let leavesStored = plan.policy == .fill || plan.policy == .update
        // The server wants a required column filled even where the row then turns out to be there.
        let absent = missing.everywhere.filter { !leavesStored || !plan.columns[$0].isRequired }
        var left = plan.columns.indices.filter { !absent.contains($0) }
        // INSERT needs one column at least.
        if left.isEmpty { left = [0] }
        filled = left
        partial = missing.somewhere.union(missing.everywhere).intersection(left)
        let unsaid = absent.map { plan.columns[$0] }
        changeable =
            leavesStored ? plan.changeable.filter { !unsaid.contains($0) } : plan.changeable
    }

    /// Moves the rows of a source.
    func run(_ source: SQL, job: Int64, _ connection: Connection) throws -> MergeCounts {
        guard !plan.target.facts.hasRules else {
            let count = try connection.query(insert(source)).affected
            return MergeCounts(inserted: count)
        }
        var statements = [merge(source, job: job)]
        if countsUnchanged {
            statements.insert(
                "select pg_catalog.set_config('bulkhead.unchanged', '0', true)",
                at: 0
            )
        }
        let row = try connection.pipeline(statements)
        return MergeCounts(
            inserted: try row.required(0, 0),
            updated: try row.required(0, 1),
            unchanged: try row.value(0, 2)
        )
    }

    // MARK: The parts

    private func merge(_ source: SQL, job: Int64) -> SQL {
        """
        with merged as (
            \(insert(source))
            returning \(unsafe: plan.returnsKeys ? key : "null") as id, \(unsafe: isNew) as is_new
        ), numbered as (
            select m.id, m.is_new, (pg_catalog.row_number() over () - 1) / 10000 as part from merged m
        ), lists as (
            select n.is_new, count(*) as rows, \(unsafe: list) as ids
            from numbered n group by n.part, n.is_new
        ) \(publishing(job))
        select coalesce(sum(l.rows) filter (where l.is_new), 0),
            coalesce(sum(l.rows) filter (where not l.is_new), 0), \(unsafe: counted)
        from lists l
        """
    }

    private var list: String {
        plan.returnsKeys
            ? "('[' || pg_catalog.string_agg(n.id, ',') || ']')::jsonb" : "null::jsonb"
    }

    private func publishing(_ job: Int64) -> SQL {
        guard plan.returnsKeys else { return "" }
        return """
            , published as (
                insert into bulkhead.change (relation, operation, ids, job)
                select \(plan.target.relation), case when l.is_new then 'insert' else 'update' end,
                    case when \(unsafe: plan.mayChangeKeys ? "l.is_new" : "true") then l.ids end, \(job)
                from lists l
            )
            """
    }

    private func insert(_ source: SQL) -> SQL {
        let columns = filled.map { quoted(identifier: plan.columns[$0].name) }.joined(
            separator: ", "
        )
        var values = filled.map(value)
        if let trace {
            // Volatile, so it is computed behind the sort, row by row.
            values[0] =
                "case when pg_catalog.setval('\(trace)', s.bulkhead_n + 1) is not null then \(values[0]) end"
        }
        return """
            insert into \(unsafe: plan.target.name) as bulkhead_t (\(unsafe: columns))
            select \(unsafe: values.joined(separator: ", ")) from \(source) \(stored)
            order by s.bulkhead_n
            \(unsafe: onConflict)
            """
    }

    private func value(_ position: Int) -> String {
        let staged = "s.bulkhead_c\(position + 1)"
        guard partial.contains(position) else { return staged }
        let column = plan.columns[position]
        var other = column.defaultValue.map { "(\($0))::\(column.plainType)" } ?? "null"
        if looksUpStored {
            other =
                "case when bulkhead_stored.found then bulkhead_stored.\(quoted(identifier: column.name)) "
                + "else \(other) end"
        }
        return
            "case when \(position)::smallint = any (s.bulkhead_missing) then \(other) else \(staged) end"
    }

    /// Whether rows that say nothing of a column need to know what is stored.
    private var looksUpStored: Bool {
        !partial.isEmpty && (plan.policy == .fill || plan.policy == .update)
    }

    /// The stored row of a staged one, locked so that it stays what it is until it is changed.
    private var stored: SQL {
        guard looksUpStored else { return "" }
        let columns = partial.sorted().map { "t.\(quoted(identifier: plan.columns[$0].name))" }
        let condition = plan.key.matches(stored: "t", stagedName: plan.stagedName)
        return """
            left join lateral (
                select true as found, \(unsafe: columns.joined(separator: ", "))
                from \(unsafe: plan.target.name) t where \(unsafe: condition) offset 0 for update
            ) as bulkhead_stored on true
            """
    }

    private var onConflict: String {
        guard plan.policy != .error else { return "" }
        guard plan.policy.changesRows, !changeable.isEmpty || countsUnchanged else {
            return "on conflict (\(plan.key.list)) do nothing"
        }
        return """
            on conflict (\(plan.key.list)) do update set \(assignments)
            where \(difference)\(counter)
            """
    }

    private var assignments: String {
        let columns = changeable.isEmpty ? plan.key.columns : changeable
        return columns.map { column in
            let name = quoted(identifier: column.name)
            return plan.policy == .fill
                ? "\(name) = coalesce(bulkhead_t.\(name), excluded.\(name))"
                : "\(name) = excluded.\(name)"
        }.joined(separator: ", ")
    }

    /// Whether the stored row would become another.
    private var difference: String {
        guard !changeable.isEmpty else { return "false" }
        let names = changeable.map { quoted(identifier: $0.name) }
        guard plan.policy != .fill else {
            // Not IS NULL, which is true for a composite value of nothing but NULLs.
            return names.map {
                "(bulkhead_t.\($0) is not distinct from null and excluded.\($0) is distinct from null)"
            }.joined(separator: " or ")
        }
        var parts = changeable.filter(\.isEqualByImage).map { column in
            let name = quoted(identifier: column.name)
            return "bulkhead_t.\(name) is distinct from excluded.\(name)"
        }
        // By image: not every type has an equality, and what is equal may still read differently.
        let others = changeable.filter { !$0.isEqualByImage }.map { quoted(identifier: $0.name) }
        func row(of table: String) -> String {
            "row(\(others.map { "\(table).\($0)" }.joined(separator: ", ")))::record"
        }
        if !others.isEmpty {
            parts.append("\(row(of: "bulkhead_t")) operator(pg_catalog.*<>) \(row(of: "excluded"))")
        }
        return parts.joined(separator: " or ")
    }

    /// Where a trigger may drop rows, what is left over tells nothing: then those without a difference are
    /// counted as they are met.
    private var countsUnchanged: Bool { plan.policy.changesRows && plan.target.facts.hasTriggers }

    private var counted: String {
        countsUnchanged ? "pg_catalog.current_setting('bulkhead.unchanged')::bigint" : "null"
    }

    private var counter: String {
        guard countsUnchanged else { return "" }
        return """
             or pg_catalog.set_config('bulkhead.unchanged',
                (pg_catalog.current_setting('bulkhead.unchanged')::bigint + 1)::text, true) is null
            """
    }

    // MARK: Keys

    /// The primary key as JSON.
    private var key: String {
        let parts = plan.target.primaryKey.map { column in
            let value = "bulkhead_t.\(quoted(identifier: column.name))::text"
            return column.isFeedNumber ? value : "pg_catalog.to_json(\(value))::text"
        }
        return parts.count == 1
            ? parts[0] : "'[' || \(parts.joined(separator: " || ',' || ")) || ']'"
    }

    /// What is handed back with a merged row, to tell whether it is new.
    private var isNew: String {
        let facts = plan.target.facts
        if !plan.policy.changesRows { return "true" }
        if facts.returnsOldRows, !plan.key.nullsAreEqual {
            return "old.\(quoted(identifier: plan.key.columns[0].name)) is null"
        }
        // A row that was locked before it was changed carries the lock over into its new version.
        if facts.isReadable, !facts.isPartitioned { return "bulkhead_t.xmax = 0" }
        // A partition's rows show no system columns here; the statement's snapshot shows what was there.
        let condition = plan.key.matches(stored: "t") { column in
            "bulkhead_t.\(quoted(identifier: column.name))"
        }
        // OFFSET 0: a lookup for each row, never a scan of the table.
        return "not exists (select from \(plan.target.name) t where \(condition) offset 0)"
    }
}
