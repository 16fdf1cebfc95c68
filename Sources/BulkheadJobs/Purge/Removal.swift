internal import Bulkhead
internal import Postgres

/// One batch: the stretch of ground that it looks at, and the statement that takes its rows away.
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

    /// Picks the rows, deletes them, archives them and records their keys: everything up to the last
    /// SELECT.
    ///
    /// They are picked first and deleted by their place: so no batch looks at more than its own ground, and the
    /// plan of one cannot become a scan. The condition stands at the DELETE as well, since a row that was changed
    /// meanwhile is judged there again.
    var commonTables: String {
        var parts = picking(locks: skipsLocked)
        parts.append(
            """
            gone as (
                delete from \(ground.source) as \(alias)
                where \(isOne(of: "chosen")) and \(condition) and \(deletes)
                returning \(returned)
            )
            """
        )
        parts.append("told as (\(ground.feed.change(.delete, from: "gone", job: job)))")
        if case .table(let table) = archive {
            parts.append(
                "kept as (\(table.insertion(of: ground.columns, from: "gone", job: job, batch: batch)))"
            )
        }
        return "with " + parts.joined(separator: ",\n")
    }

    /// Only picks and locks the rows, for those who delete them by their places: everything up to the last
    /// SELECT.
    var lockingTables: String {
        "with "
            + (picking(locks: true) + ["gone as (select * from chosen)"]).joined(separator: ",\n")
    }

    /// What came of it, as a JSON object.
    ///
    /// A row is counted once and written once: OFFSET keeps the server from putting the counts back in each place,
    /// and the last place is looked for before it is put into words.
    var summary: String {
        let same = list(places, " and ") { n, _ in "g.bulkhead_p\(n) = b.bulkhead_p\(n)" }
        let order = list(places) { n, _ in "bulkhead_p\(n) desc" }
        let place = list(places) { n, _ in "pg_catalog.format('%s', b.bulkhead_p\(n))" }
        return """
            (select pg_catalog.json_build_object(
                'picked', n.picked, 'deleted', n.deleted,
                'blocked', (select count(*) from batch where \(isBlocked == nil ? "false" : "is_blocked")),
                'last', (select pg_catalog.json_build_array(\(place)) from (
                    select * from batch order by \(order) limit 1) as b),
                'left', case when n.picked > n.deleted then (
                    select pg_catalog.json_build_array(\(place)) from batch b
                    where not exists (select from gone g where \(same)) limit 1) end,
                'filenode', coalesce(pg_catalog.pg_relation_filenode(\(ground.oid)::oid), 0)::bigint,
                'is_part', \(ground.oid)::oid = any (\(PurgeTable.members("\(ground.root)::oid")))
                    and coalesce(pg_catalog.to_regclass(\(quoted(literal: ground.name)))::oid = \(ground.oid)::oid, false))
            from (
                select (select count(*) from batch) as picked, (select count(*) from gone) as deleted offset 0) as n)
            """
    }

    // MARK: Picking

    private func picking(locks: Bool) -> [String] {
        let columns = list(places) { n, place in "\(place) as bulkhead_p\(n)" }
        let names = list(places) { n, _ in "bulkhead_p\(n)" }
        let blocked = isBlocked.map { ", (\($0)) as is_blocked" } ?? ""
        let batch = """
            batch as materialized (
                select \(columns)\(blocked) from \(ground.source) as \(alias)
                where \(window) and \(condition)
                order by \(list(places) { $1 }) limit \(size.rows)
            ), free as (
                select \(names) from batch\(isBlocked == nil ? "" : " where not is_blocked")
            )
            """
        guard locks else { return [batch, "chosen as (select * from free)"] }
        // Apart from the batch: a row that was moved meanwhile is locked where it is now, and must not take the
        // walk along.
        let chosen = """
            chosen as materialized (
                select \(columns) from \(ground.source) as \(alias)
                where \(isOne(of: "free")) and \(condition)
                for update of \(alias)\(skipsLocked ? " skip locked" : "")
            )
            """
        return [batch, chosen]
    }

    /// What orders the rows, and together finds each of them again.
    var places: [String] {
        switch position.way {
        case .pages: ["\(alias).ctid"]
        case .index(let column, _, _): ["\(alias).\(column)", "\(alias).ctid"]
        case .key: ground.keyColumns.map { "\(alias).\($0)" }
        }
    }

    private func isOne(of rows: String) -> String {
        switch position.way {
        case .pages, .index:
            return "\(alias).ctid = any (array(select bulkhead_p\(places.count - 1) from \(rows)))"
        case .key:
            return """
                (\(list(places) { $1 })) in (select \(list(places) { n, _ in "bulkhead_p\(n)" }) from \(rows))
                """
        }
    }

    /// The row's ctid among what is picked.
    var rowPlace: String { "bulkhead_p\(places.count - 1)" }

    private var returned: String {
        let needed = archive == nil ? ground.keyColumns : ground.columns.map(\.name)
        return
            (places.enumerated().map { "\($0.element) as bulkhead_p\($0.offset)" }
            + needed.map { "\(alias).\($0)" }).joined(separator: ", ")
    }

    // MARK: The stretch of ground

    /// The page at which the batch stops looking; 0 where it does not go by pages.
    var stop: Int64 {
        guard case .pages(let end) = position.way else { return 0 }
        return min(end, start.page + Int64(size.pages))
    }

    private var start: (page: Int64, offset: Int) {
        if case .page(let page, let offset) = position.after { (page, offset) } else { (0, 0) }
    }

    var window: String {
        switch position.way {
        case .pages:
            return """
                \(alias).ctid >= '(\(start.page),\(start.offset))'::tid and \(alias).ctid < '(\(stop),0)'::tid
                """
        case .index(let column, let type, let end):
            let value = "\(alias).\(column)"
            let bound = "\(value) <= \(quoted(literal: end))::\(type)"
            guard case .value(let last, let ctid) = position.after else { return bound }
            let reached = "\(quoted(literal: last))::\(type)"
            return """
                \(bound) and \(value) >= \(reached) and (\(value) > \(reached) or \(alias).ctid > '\(ctid)'::tid)
                """
        case .key(let end):
            let key = "(\(list(places) { $1 }))"
            let bound = "\(key) <= \(keyLiteral(end))"
            guard case .key(let last) = position.after else { return bound }
            return "\(bound) and \(key) > \(keyLiteral(last))"
        }
    }

    /// A key as the types of its columns read it.
    private func keyLiteral(_ values: [String]) -> String {
        let parts = zip(values, ground.keyTypes).map { "\(quoted(literal: $0))::\($1)" }
        return "(\(parts.joined(separator: ", ")))"
    }

    func list(
        _ items: [String],
        _ separator: String = ", ",
        _ body: (Int, String) -> String
    ) -> String {
        items.enumerated().map { body($0.offset, $0.element) }.joined(separator: separator)
    }
}
