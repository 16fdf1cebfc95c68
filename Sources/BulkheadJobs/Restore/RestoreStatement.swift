internal import Bulkhead
internal import Postgres

/// The statement that brings back one block of an archive, and takes it out of an archive table.
struct RestoreStatement {
    private let block: ArchivedBlock
    private let ground: PurgeGround
    private let columns: [ArchivedColumn]
    private let source: RestoreSource
    private let policy: MergePolicy
    private let job: Int64

    /// - Throws: `JobFailure` when the policy has nothing to decide by.
    init(_ source: RestoreSource, _ policy: MergePolicy, job: Int64) throws {
        self.source = source
        self.policy = policy
        self.job = job
        block = source.block
        ground = source.ground
        columns = source.columns
        if policy != .error || block.isUpdate, ground.keyColumns.isEmpty {
            throw JobFailure(
                "\(block.relation) has no primary key, so it cannot be told which of its rows are there again: "
                    + "restore with on_conflict error"
            )
        }
    }

    func run(_ connection: Connection) throws -> RestoreReport {
        let statement = block.isUpdate ? settingBack : inserting
        do {
            return try run(statement, connection)
        } catch let error as PostgresError where error.state == .uniqueViolation {
            throw JobFailure(
                "\(block.relation): \(error.message); \(error.detail ?? ""): a row that is there again; say what "
                    + "becomes of such rows with --on-conflict skip, fill, update or replace",
                sqlstate: error.state?.rawValue
            )
        }
    }

    private func run(_ statement: String, _ connection: Connection) throws -> RestoreReport {
        try connection.query(SQL(unsafe: statement)).required(0, 0, as: JSONText.self)
            .decode()
    }

    // MARK: Whole rows

    private var inserting: String {
        let list = columns.map(\.name).joined(separator: ", ")
        let returned = [isNew] + ground.keyColumns.map { "bulkhead_t.\($0)" }
        var parts = [
            "source as materialized (select * from \(source.rows) as bulkhead_s)",
            """
            back as (
                insert into \(ground.name) as bulkhead_t (\(list)) overriding system value
                select \(list) from source \(onConflict)
                returning \(returned.joined(separator: ", "))
            )
            """,
            "added as (select * from back where is_new)",
            "changed as (select * from back where not is_new)",
            "told as (\(ground.feed.change(.insert, from: "added", job: job)))",
        ]
        if policy.changesRows {
            parts.append("told_too as (\(ground.feed.change(.update, from: "changed", job: job)))")
        }
        // Under skip, what is there again stays in the archive.
        let isBack =
            policy == .skip ? "exists (select from back where \(sameKey("back", "a")))" : "true"
        parts += taking(where: isBack)
        let skipped =
            policy == .skip ? "(select count(*) from source) - (select count(*) from back)" : "0"
        return """
            with \(parts.joined(separator: ",\n"))
            select pg_catalog.json_build_object('restored', (select count(*) from added),
                'updated', (select count(*) from changed), 'skipped', \(skipped))::text
            """
    }

    /// A row that was there already shows in the statement's own snapshot.
    ///
    /// OFFSET 0: a lookup for each row, never a scan of the table.
    private var isNew: String {
        guard policy.changesRows else { return "true as is_new" }
        return """
            not exists (select from \(ground.name) t where \(sameKey("t", "bulkhead_t")) offset 0) as is_new
            """
    }

    private var onConflict: String {
        let rest = columns.map(\.name).filter { !ground.keyColumns.contains($0) }
        guard policy.changesRows, !rest.isEmpty else {
            return policy == .error ? "" : "on conflict do nothing"
        }
        let values = rest.map { name in
            policy == .fill ? "coalesce(bulkhead_t.\(name), excluded.\(name))" : "excluded.\(name)"
        }
        let stored = rest.map { "bulkhead_t.\($0)" }.joined(separator: ", ")
        let set = zip(rest, values).map { "\($0) = \($1)" }.joined(separator: ", ")
        return """
            on conflict (\(ground.keyColumns.joined(separator: ", "))) do update set \(set)
            where row(\(stored))::record operator(pg_catalog.*<>) row(\(values.joined(separator: ", ")))::record
            """
    }

    // MARK: Columns that a foreign key has set

    /// Rows that somebody has given another value meanwhile keep it.
    private var settingBack: String {
        let set = columns.map { "\($0.name) = s.\($0.name)" }.joined(separator: ", ")
        let untouched = columns.map { column in
            "(t.\(column.name) is null\(column.defaultValue.map { " or t.\(column.name) = (\($0))" } ?? ""))"
        }
        var parts = [
            "source as materialized (select * from \(source.rows) as bulkhead_s)",
            """
            changed as (
                update \(ground.name) t set \(set) from source s
                where \(sameKey("t", "s")) and \(untouched.joined(separator: " and "))
                returning \(ground.keyColumns.map { "t.\($0)" }.joined(separator: ", "))
            )
            """,
            "told as (\(ground.feed.change(.update, from: "changed", job: job)))",
        ]
        parts += taking(where: "true")
        return """
            with \(parts.joined(separator: ",\n"))
            select pg_catalog.json_build_object('restored', 0, 'updated', (select count(*) from changed),
                'skipped', 0)::text
            """
    }

    // MARK: The archive

    private func taking(where isBack: String) -> [String] {
        guard case .table(let name) = block.place else { return [] }
        return ["taken as (delete from \(name) a where \(block.marks("a")) and \(isBack))"]
    }

    private func sameKey(_ one: String, _ other: String) -> String {
        ground.keyColumns.map { "\(one).\($0) = \(other).\($0)" }.joined(separator: " and ")
    }
}
