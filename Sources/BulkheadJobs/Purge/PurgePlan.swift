internal import Bulkhead
internal import Postgres

/// What is fixed before the first row goes.
struct PurgePlan {
    let condition: PurgeCondition
    /// The tables to walk, by their oids.
    let grounds: [Int64]
    /// By the server's estimate.
    let expectedRows: Int64

    init(_ arguments: PurgeArguments, _ table: PurgeTable, _ connection: Connection) throws {
        condition = try PurgeCondition(arguments, table, connection)
        grounds = table.facts.needsParent == nil ? table.leaves : [table.oid]
        let plan: JSONText = try connection.query(
            SQL(
                unsafe:
                    "explain (format json) select from \(table.name) as \(table.alias) where \(condition.sql)"
            )
        ).required(0, 0)
        let rows = try plan.decode([QueryPlan].self).first?.plan.rows ?? 0
        expectedRows = Int64(min(max(rows, 0), 9e15))
    }
}
