internal import Bulkhead
internal import Postgres

extension Removal {
    private struct Remaining: Decodable {
        let count: Int
        let first: [String]?
    }

    /// Counts what was picked and not deleted: of those rows some may match no more, or be somebody else's deed.
    func count(_ outcome: inout RemovalOutcome, _ connection: Connection) throws {
        guard outcome.picked > outcome.deleted + outcome.blocked, let last = outcome.last else {
            return
        }
        let found: Remaining = try connection.query(SQL(unsafe: remaining(upTo: last)))
            .required(0, 0, as: JSONText.self).decode()
        outcome.kept = found.count
        if outcome.blocked == 0 { outcome.left = found.first }
    }

    private func remaining(upTo last: [String]) -> String {
        let columns = list(places) { n, place in "\(place) as bulkhead_p\(n)" }
        let place = list(places) { n, _ in "pg_catalog.format('%s', b.bulkhead_p\(n))" }
        let end = zip(last, types).map { "\(quoted(literal: $0))::\($1)" }.joined(separator: ", ")
        return """
            with batch as (
                select \(columns), \(isBlocked ?? "false") as is_blocked from \(ground.source) as \(ground.alias)
                where \(window) and (\(list(places) { $1 })) <= (\(end)) and \(condition)
                order by \(list(places) { $1 }) limit \(size.rows)
            )
            select pg_catalog.json_build_object('count', (select count(*) from batch where not is_blocked),
                'first', (select pg_catalog.json_build_array(\(place)) from batch b where not is_blocked limit 1))::text
            """
    }

    /// The types of the places, as SQL.
    private var types: [String] {
        switch position.way {
        case .pages: ["tid"]
        case .index(_, let type, _): [type, "tid"]
        case .key: ground.keyTypes
        }
    }
}
