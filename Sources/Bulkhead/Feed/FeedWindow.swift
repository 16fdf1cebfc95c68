internal import Postgres

/// What the feed says of some tables between a place and a moment.
struct FeedWindow: Sendable {
    /// The keys of the rows that changed, as JSON; nil when all rows may have, or too many did.
    let ids: Set<RowID>?
    /// The place at that moment.
    let end: String
}

extension FeedConnection {
    /// Reads all pages of a window, which ends at the moment that the open transaction sees.
    func window(
        since start: String,
        of relations: [String],
        page: Int,
        most: Int
    ) async throws -> FeedWindow {
        let end = try await presentToken()
        var ids: Set<RowID> = []
        var place = start
        while place != end {
            // No line end stands in JSON text that the server writes.
            let rows = try await query(
                """
                select c.token, c.operation = 'reset' or c.ids is null,
                    (select string_agg(e.value::text, E'\\n') from jsonb_array_elements(c.ids) e)
                from bulkhead.changes_since(\(place), \(relations), \(page)) c
                """
            )
            if rows.isEmpty { break }
            for row in 0..<rows.count {
                place = try rows.required(row, 0)
                guard try !rows.required(row, 1, as: Bool.self) else {
                    return FeedWindow(ids: nil, end: end)
                }
                let lines = try rows.value(row, 2, as: String.self) ?? ""
                ids.formUnion(lines.split(separator: "\n").map { RowID(String($0)) })
            }
            if ids.count > most { return FeedWindow(ids: nil, end: end) }
        }
        return FeedWindow(ids: ids, end: end)
    }
}
