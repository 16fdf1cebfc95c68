internal import Bulkhead
internal import Postgres

/// The statement that deletes one batch: it picks the rows, deletes them, archives them and records their
/// keys, all at once.
struct Removal {
    let ground: PurgeGround
    let position: WalkPosition
    let condition: String
    var size: Size
    /// Whether something that refers to a row keeps it, as SQL; nil where nobody asks.
    var isBlocked: String?
    /// Whether the rows are deleted, not only picked.
    var deletes = true
    /// Whether rows that somebody else has locked are left for later.
    let skipsLocked: Bool
    let archive: ArchiveTarget?
    let job: Int64
    let batch: Int64

    /// Rows at most, and pages at most that are looked at.
    struct Size {
        var rows: Int
        var pages: Int
    }

    private var alias: String { ground.alias }

    /// Everything up to the last SELECT.
    ///
    /// The rows are picked first and deleted by their place: so no batch looks at more than its own ground, and
    /// the plan of one cannot become a scan. The condition stands at the DELETE as well, since a row that was
    /// changed meanwhile is judged there again.
    var commonTables: String {
        var parts = [
            """
            batch as materialized (
                select \(list(places) { "\($1) as bulkhead_p\($0)" }) \(isBlocked.map { ", (\($0)) as is_blocked" } ?? "")
                from \(ground.source) as \(alias)
                where \(window) and \(condition)
                order by \(list(places) { $1 }) limit \(size.rows) \(skipsLocked ? "for update of \(alias) skip locked" : "")
            )
            """,
            """
            gone as (
                delete from \(ground.source) as \(alias) \(matching) and \(condition) and \(deletes)
                returning \(returned)
            )
            """,
            "told as (\(ground.change(.delete, from: "gone", job: job)))",
        ]
        if case .table(let table) = archive {
            parts.append("kept as (\(table.insertion(of: ground.columns, from: "gone", job: job, batch: batch)))")
        }
        return "with " + parts.joined(separator: ",\n")
    }

    /// What came of it, as one JSON array.
    var summary: String {
        let place = { (alias: String) in
            "pg_catalog.json_build_array(\(self.list(self.places) { n, _ in "pg_catalog.format('%s', \(alias).bulkhead_p\(n))" }))"
        }
        let same = list(places, " and ") { n, _ in "g.bulkhead_p\(n) = b.bulkhead_p\(n)" }
        let order = list(places) { n, _ in "b.bulkhead_p\(n) desc" }
        return """
            pg_catalog.json_build_object(
                'picked', (select count(*) from batch), 'deleted', (select count(*) from gone),
                'blocked', (select count(*) from batch \(isBlocked == nil ? "where false" : "where is_blocked")),
                'last', (select \(place("b")) from batch b order by \(order) limit 1),
                'left', case when (select count(*) from batch) > (select count(*) from gone) then (
                    select \(place("b")) from batch b
                    where not exists (select from gone g where \(same)) limit 1) end,
                'filenode', coalesce(pg_catalog.pg_relation_filenode(\(ground.oid)::oid), 0)::bigint)
            """
    }

    // MARK: Places

    /// What orders the rows, and together finds each of them again.
    private var places: [String] {
        switch position.way {
        case .pages: ["\(alias).ctid"]
        case .index(let column, _, _): ["\(alias).\(column)", "\(alias).ctid"]
        case .key: ground.keyColumns.map { "\(alias).\($0)" }
        }
    }

    /// The page at which the batch stops looking; 0 where it does not go by pages.
    var stop: Int64 {
        guard case .pages(let end) = position.way else { return 0 }
        return min(end, (position.after?.page?.page ?? 0) + Int64(size.pages))
    }

    private var window: String {
        switch (position.way, position.after) {
        case (.pages, let after):
            let start = after?.page ?? (0, 0)
            return """
                \(alias).ctid >= '(\(start.page),\(start.offset))'::tid and \(alias).ctid < '(\(stop),0)'::tid
                """
        case (.index(let column, let type, let end), let after):
            let value = "\(alias).\(column)"
            let bound = "\(value) <= '\(literal(end))'::\(type)"
            guard case .value(let last, let ctid) = after else { return bound }
            let reached = "'\(literal(last))'::\(type)"
            return """
                \(bound) and \(value) >= \(reached) and (\(value) > \(reached) or \(alias).ctid > '\(ctid)'::tid)
                """
        case (.key(let end), let after):
            let key = "(\(list(places) { $1 }))"
            let bound = "\(key) <= \(row(end))"
            guard case .key(let last) = after else { return bound }
            return "\(bound) and \(key) > \(row(last))"
        }
    }

    /// A key as the types of its columns read it.
    private func row(_ values: [String]) -> String {
        let parts = zip(values, ground.keyTypes).map { "'\(literal($0))'::\($1)" }
        return "(\(parts.joined(separator: ", ")))"
    }

    // MARK: Rows

    private var matching: String {
        let chosen = isBlocked == nil ? "" : "where not is_blocked"
        switch position.way {
        case .pages, .index:
            return """
                where \(alias).ctid = any (array(select bulkhead_p\(places.count - 1) from batch \(chosen)))
                """
        case .key:
            let same = list(places, " and ") { "\($1) = bulkhead_b.bulkhead_p\($0)" }
            return "using (select * from batch \(chosen)) as bulkhead_b where \(same)"
        }
    }

    private var returned: String {
        var columns = list(places) { "\($1) as bulkhead_p\($0)" }
        let needed = archive == nil ? ground.keyColumns : ground.columns.map(\.name)
        for column in needed { columns += ", \(alias).\(column)" }
        return columns
    }

    private func list(
        _ items: [String],
        _ separator: String = ", ",
        _ body: (Int, String) -> String
    ) -> String {
        items.enumerated().map { body($0.offset, $0.element) }.joined(separator: separator)
    }
}

extension WalkPosition.Place {
    fileprivate var page: (page: Int64, offset: Int)? {
        if case .page(let page, let offset) = self { (page, offset) } else { nil }
    }
}

extension PurgeGround {
    /// Inserts the change records of rows that nobody else records, 10,000 keys at most in each.
    func change(_ operation: Batch.Operation, from rows: String, job: Int64) -> String {
        let isOpen = "(select not coalesce(bulkhead.is_tracked(\(oid)::oid), false))"
        let name = literal(relation)
        guard let feedKey else {
            return """
                insert into bulkhead.change (relation, operation, ids, job)
                select '\(name)', '\(operation)', null, \(job) where \(isOpen) and exists (select from \(rows))
                """
        }
        return """
            insert into bulkhead.change (relation, operation, ids, job)
            select '\(name)', '\(operation)', ('[' || pg_catalog.string_agg(k.id, ',') || ']')::jsonb, \(job)
            from (
                select \(feedKey) as id, (pg_catalog.row_number() over () - 1) / 10000 as part from \(rows) t) as k
            where \(isOpen)
            group by k.part
            """
    }
}

/// What came of one removal.
struct RemovalOutcome: Decodable {
    var picked: Int
    var deleted: Int
    var blocked: Int
    let last: [String]?
    let left: [String]?
    let filenode: Int64
}
