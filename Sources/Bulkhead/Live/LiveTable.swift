internal import Postgres

/// A query of one table, and the statements that keep its result.
struct LiveTable: Sendable {
    let name: String
    let columns: SQL
    let filter: SQL?
    let order: SQL?
    /// With one, a row that goes makes room for one that was never read, so rows cannot be read one by one.
    let limit: Int?

    /// All rows in order, the key in the last column.
    func whole(of table: FeedTable) -> SQL {
        let key: SQL = table.key.map { ", \(unsafe: $0.expression) as bulkhead_id" } ?? ""
        let limit: SQL = limit.map { "limit \($0)" } ?? ""
        return """
            select \(columns)\(key) from \(unsafe: table.name) t where \(condition)
            \(ordering(by: table.key)) \(limit)
            """
    }

    /// The rows of some ids, in no order, and behind each whether it was found and its id: a row for each id.
    ///
    /// The ids go through the types of the key's columns, so that the index on the key finds them, and so that
    /// they are written as this query writes them, whoever recorded them.
    func some(of table: FeedTable, _ key: FeedTable.Key, ids: JSONText) -> SQL {
        let names = key.columns.map { "t.\($0.name)" }.joined(separator: ", ")
        let matches = key.columns.map { "t.\($0.name) = bulkhead_asked.\($0.name)" }
            .joined(separator: " and ")
        return """
            select r.*, bulkhead_asked.bulkhead_id
            from (
                select distinct \(unsafe: key.expression) as bulkhead_id, \(unsafe: names)
                from (\(asked(key, ids))) t) bulkhead_asked
            left join lateral (
                select \(columns), true as bulkhead_found from \(unsafe: table.name) t
                where \(unsafe: matches) and \(condition)) r on true
            """
    }

    /// Some ids in the order of their rows; those that have no row in the result are left out.
    ///
    /// The select list is the query's, since an ORDER BY may name a column of it.
    func order(of table: FeedTable, _ key: FeedTable.Key, ids: JSONText) -> SQL {
        let names = key.columns.map { "t.\($0.name)" }.joined(separator: ", ")
        return """
            select q.bulkhead_id from (
                select \(columns), \(unsafe: key.expression) as bulkhead_id
                from \(unsafe: table.name) t
                where (\(unsafe: names)) in (\(asked(key, ids))) and \(condition)
                \(ordering(by: key))) q
            """
    }

    /// Ids as columns of the key's names and types.
    private func asked(_ key: FeedTable.Key, _ ids: JSONText) -> SQL {
        let casts = key.columns.enumerated().map { place, column in
            let value = key.columns.count == 1 ? "e.value #>> '{}'" : "e.value ->> \(place)"
            return "(\(value))::\(column.type) as \(column.name)"
        }
        return """
            select \(unsafe: casts.joined(separator: ", ")) from jsonb_array_elements(\(ids)::jsonb) e
            """
    }

    /// Behind it a new line, since it may end in a comment.
    private var condition: SQL { filter.map { "(\($0)\n)" } ?? "true" }

    /// The key ends the order, so that no two rows are equal in it.
    private func ordering(by key: FeedTable.Key?) -> SQL {
        let names = key?.columns.map { "t.\($0.name)" }.joined(separator: ", ")
        return switch (order, names) {
        case (let order?, let names?): "order by \(order)\n, \(unsafe: names)"
        case (let order?, nil): "order by \(order)\n"
        case (nil, let names?): "order by \(unsafe: names)"
        case (nil, nil): ""
        }
    }
}
