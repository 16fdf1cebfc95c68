internal import Bulkhead
internal import Postgres

/// How far a backfill is: kept in the record of the step, so that another job can go on from there.
struct BackfillPosition: Codable {
    /// The way through the table and the place in it.
    var walk: WalkPosition
    /// The table that is walked.
    let table: Int64
    /// 0 in the first pass, then the number of the sweep.
    var sweep = 0
    /// Whether the present pass has reached its end.
    var isPassDone = false
    /// The rows that were left after the last pass.
    var left: Int64?
}

/// The next stretch of a backfill's table.
struct BackfillWindow {
    /// Which rows are in it, as SQL.
    let condition: String
    /// The place behind it; nil at the end of the walk.
    let next: WalkPosition.Place?

    /// Finds the stretch that holds the next rows, or the next pages.
    ///
    /// `open` tells which rows count, as SQL; nil for all.
    init(
        _ table: BackfillTable,
        _ alias: String,
        _ walk: WalkPosition,
        rows: Int,
        pages: Int,
        open: String?,
        _ connection: Connection
    ) throws {
        switch walk.way {
        case .pages(let end):
            let start: Int64 = if case .page(let page, _) = walk.after { page } else { 0 }
            let stop = min(end, start + Int64(pages))
            condition =
                "\(alias).ctid >= '(\(start),0)'::tid and \(alias).ctid < '(\(stop),0)'::tid"
            next = stop < end ? .page(stop, offset: 0) : nil
        case .key(let end):
            let key = "(\(table.keyList(alias)))"
            var lower = "true"
            if case .key(let last) = walk.after { lower = "\(key) > \(table.keyLiteral(last))" }
            let upper = "\(key) <= \(table.keyLiteral(end))"
            let found = try connection.query(
                SQL(
                    unsafe: """
                        select \(table.keyTexts(alias)) from \(table.name) as \(alias)
                        where \(lower) and \(upper) and \(open ?? "true")
                        order by \(table.keyList(alias)) offset \(rows - 1) limit 1
                        """
                )
            )
            guard !found.isEmpty else {
                condition = "\(lower) and \(upper)"
                next = nil
                return
            }
            let last = try table.key.indices.map { try found.required(0, $0, as: String.self) }
            condition = "\(lower) and \(key) <= \(table.keyLiteral(last))"
            next = .key(last)
        case .index:
            throw JobFailure("the position of this backfill cannot be read")
        }
    }
}

extension BackfillTable {
    /// Where a walk begins, and where it ends whatever comes meanwhile; nil when there is no row.
    func start(_ connection: Connection) throws -> WalkPosition? {
        if key.isEmpty {
            let pages: Int64 = try connection.query(
                """
                select pg_catalog.pg_relation_size(\(oid)::oid)
                    / pg_catalog.current_setting('block_size')::bigint
                """
            ).required(0, 0)
            return pages == 0 ? nil : WalkPosition(way: .pages(end: pages), filenode: filenode)
        }
        let row = try connection.query(
            SQL(
                unsafe:
                    "select \(keyTexts("t")) from \(name) t order by \(keyList("t", " desc")) limit 1"
            )
        )
        guard !row.isEmpty else { return nil }
        let end = try key.indices.map { try row.required(0, $0, as: String.self) }
        return WalkPosition(way: .key(end: end), filenode: filenode)
    }

    /// The rows that a walk should have done and did not, and the first of them by name.
    func left(
        _ open: String,
        _ alias: String,
        _ walk: WalkPosition,
        _ connection: Connection
    ) throws -> (count: Int64, names: String?) {
        var bound = "true"
        var name = "\(alias).ctid::text"
        if case .key(let end) = walk.way {
            bound = "(\(keyList(alias))) <= \(keyLiteral(end))"
            name = "pg_catalog.concat_ws(', ', \(keyTexts(alias)))"
        }
        let row = try connection.query(
            SQL(
                unsafe: """
                    with bulkhead_left as (
                        select \(name) as name from \(self.name) as \(alias) where \(bound) and \(open))
                    select (select count(*) from bulkhead_left),
                        (select pg_catalog.string_agg(f.name, '; ')
                         from (select l.name from bulkhead_left l limit 5) as f)
                    """
            )
        )
        return (try row.required(0, 0), try row.value(0, 1))
    }
}
