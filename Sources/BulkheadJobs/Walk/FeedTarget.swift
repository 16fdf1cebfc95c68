internal import Bulkhead
internal import Postgres

/// A table as the feed names it.
struct FeedTarget {
    let oid: Int64
    /// The feed's name for it.
    let relation: String
    /// A row's key as JSON text, over a row `t`; nil where it has no key.
    let key: String?

    /// Inserts the change records of rows that nobody else records, 10,000 keys at most in each.
    ///
    /// `rows` names a part of the same statement that has the key's columns.
    func change(_ operation: Batch.Operation, from rows: String, job: Int64) -> String {
        let isOpen = "(select not coalesce(bulkhead.is_tracked(\(oid)::oid), false))"
        let name = quoted(literal: relation)
        guard let key else {
            return """
                insert into bulkhead.change (relation, operation, ids, job)
                select \(name), '\(operation)', null, \(job) where \(isOpen) and exists (select from \(rows))
                """
        }
        return """
            insert into bulkhead.change (relation, operation, ids, job)
            select \(name), '\(operation)', ('[' || pg_catalog.string_agg(k.id, ',') || ']')::jsonb, \(job)
            from (
                select \(key) as id, (pg_catalog.row_number() over () - 1) / 10000 as part from \(rows) t) as k
            where \(isOpen)
            group by k.part
            """
    }
}
