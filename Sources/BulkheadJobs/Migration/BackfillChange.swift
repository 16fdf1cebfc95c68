internal import Bulkhead
internal import Postgres

/// One run of a backfill's statement, with the change records of the rows that it touched.
struct BackfillChange {
    private let site: StepSite
    private let work: BackfillStatement
    private let text: String

    init(_ site: StepSite, _ work: BackfillStatement, condition: String) {
        self.site = site
        self.work = work
        text = work.text(for: condition)
    }

    /// Runs it.
    ///
    /// - Returns: How many rows were changed.
    /// - Throws: `BackfillConflict` for a row that has no place beside another one.
    func run(_ batch: Batch) throws -> Int64 {
        do {
            return try change(batch)
        } catch let error as PostgresError where error.state == .uniqueViolation {
            throw BackfillConflict(error: error, work: work, text: text)
        }
    }

    private func change(_ batch: Batch) throws -> Int64 {
        guard let feed = try target(batch.connection) else {
            return Int64(try execute(text, batch.connection).affected)
        }
        guard work.canReturnKeys else {
            let affected = Int64(try execute(text, batch.connection).affected)
            // Which rows it were, nobody tells.
            if affected > 0 { try batch.publish(.reset, of: feed.relation, ids: nil) }
            return affected
        }
        let keys = try keyColumns(of: feed, batch.connection)
        let returned =
            keys.isEmpty
            ? "1 as one"
            : keys.map { "\(work.target.alias).\(quoted(identifier: $0))" }.joined(separator: ", ")
        let whole = """
            with bulkhead_changed as (\(text)
            returning \(returned)),
            bulkhead_told as (\(feed.change(work.operation, from: "bulkhead_changed", job: site.context.job.id)))
            select count(*) from bulkhead_changed
            """
        return try execute(whole, batch.connection).required(0, 0)
    }

    private func execute(_ text: String, _ connection: Connection) throws -> Rows {
        do throws(PostgresError) {
            return try connection.query(SQL(unsafe: text))
        } catch {
            if error.isFinal, error.state != .uniqueViolation {
                throw site.failure(error, work.statement)
            }
            throw error
        }
    }

    /// The table that is changed, for the feed; nil for what the feed does not know, a view for instance.
    private func target(_ connection: Connection) throws -> FeedTarget? {
        let row = try connection.query(
            """
            select c.oid::bigint, f.relation, f.key
            from pg_catalog.pg_class c cross join lateral bulkhead.feed_key(c.oid) as f
            where c.oid = pg_catalog.to_regclass(\(work.target.written)) and c.relkind in ('r', 'p')
            """
        )
        guard !row.isEmpty else { return nil }
        return FeedTarget(
            oid: try row.required(0, 0),
            relation: try row.required(0, 1),
            key: try row.value(0, 2)
        )
    }

    private func keyColumns(of feed: FeedTarget, _ connection: Connection) throws -> [String] {
        let rows = try connection.query(
            """
            select a.attname from pg_catalog.pg_index i
            cross join lateral unnest(i.indkey) with ordinality as k (attnum, n)
            join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
            where i.indrelid = coalesce(pg_catalog.pg_partition_root(\(feed.oid)::oid), \(feed.oid)::oid)
                and i.indisprimary and k.n <= i.indnkeyatts order by k.n
            """
        )
        return try (0..<rows.count).map { try rows.required($0, 0) }
    }
}
