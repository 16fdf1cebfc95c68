internal import Bulkhead
internal import Postgres

/// The first column of the index by which the server itself would look for the rows of a purge.
struct IndexedColumn {
    /// Quoted for SQL.
    let name: String
    /// With its modifier, as SQL.
    let type: String
    private let cost: Cost

    /// By the server's estimates.
    private struct Cost {
        /// Rows that the condition picks.
        let matching: Double
        /// Rows that share one value at most.
        let sharing: Double
        /// Rows of the table.
        let all: Double
    }

    /// Finds it; nil where another way is better, or rows without a value could be missed.
    init?(of ground: PurgeGround, serving condition: String, _ connection: Connection) throws {
        let plan: JSONText = try connection.query(
            SQL(
                unsafe: """
                    explain (format json, verbose)
                    select from \(ground.source) as \(ground.alias) where \(condition)
                    """
            )
        ).required(0, 0)
        let node = try plan.decode([QueryPlan].self).first?.plan
        guard let node, let index = node.index(scanning: ground.alias) else { return nil }
        let row = try Self.column(of: index.name, ground.oid, connection)
        guard !row.isEmpty else { return nil }
        name = try row.required(0, 0)
        type = try row.required(0, 1)
        cost = Cost(
            matching: node.rows,
            sharing: try row.value(0, 2) ?? 1,
            all: try row.required(0, 3)
        )
        // A column that is NULL has no place in the order; only a comparison keeps those out.
        guard try index.compares(name) else { return nil }
    }

    /// Whether the index is a shorter way than the whole table.
    ///
    /// A batch that begins inside one value looks at all the rows that share it, those behind its end too.
    func isWorthWalking(batch: Int) -> Bool {
        let shared = min(cost.sharing, cost.matching)
        return cost.matching * shared / Double(2 * batch) <= max(cost.all, cost.matching)
    }

    private static func column(
        of index: String,
        _ table: Int64,
        _ connection: Connection
    ) throws -> Rows {
        try connection.query(
            """
            select pg_catalog.quote_ident(a.attname), pg_catalog.format_type(a.atttypid, a.atttypmod),
                (select greatest(s.most_common_freqs[1] * t.reltuples,
                    case when s.n_distinct > 0 then t.reltuples / s.n_distinct else -1 / nullif(s.n_distinct, 0) end
                    )::float8
                from pg_catalog.pg_stats s
                where s.schemaname = n.nspname and s.tablename = t.relname and s.attname = a.attname
                    and not s.inherited),
                t.reltuples::float8
            from pg_catalog.pg_index i
            join pg_catalog.pg_class t on t.oid = i.indrelid
            join pg_catalog.pg_namespace n on n.oid = t.relnamespace
            join pg_catalog.pg_class c on c.oid = i.indexrelid
            join pg_catalog.pg_am m on m.oid = c.relam and m.amname = 'btree'
            join pg_catalog.pg_opclass o on o.oid = i.indclass[0] and o.opcdefault
            join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
            where i.indrelid = \(table)::oid and c.relname = \(index) and i.indisvalid and i.indpred is null
                and i.indcollation[0] = a.attcollation
            """
        )
    }
}
