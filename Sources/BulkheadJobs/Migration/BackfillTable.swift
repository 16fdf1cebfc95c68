internal import Bulkhead
internal import Postgres

/// The table that a backfill walks, as the catalog describes it.
struct BackfillTable {
    let oid: Int64
    /// The name, quoted for SQL.
    let name: String
    let isPartitioned: Bool
    /// The columns of the key that orders the walk; empty where there is none.
    let key: [KeyColumn]
    /// Tells the table's file from a later one: places in one mean nothing in the other.
    let filenode: Int64
    /// About how many rows it has; nil where nobody has counted.
    let expectedRows: Int64?

    struct KeyColumn: Equatable {
        /// As it is, not quoted.
        let name: String
        /// With its modifier, as SQL.
        let type: String
    }

    /// Looks the table up, and the shortest unique key without NULLs that orders it, the primary key first.
    ///
    /// - Throws: `JobFailure` when it is not there.
    init(_ written: String, _ connection: Connection) throws {
        let row = try connection.query(
            """
            select c.oid::bigint, pg_catalog.format('%I.%I', n.nspname, c.relname), c.relkind = 'p',
                coalesce(pg_catalog.pg_relation_filenode(c.oid), 0)::bigint,
                (select sum(m.reltuples)::bigint from pg_catalog.pg_class m
                 where m.relkind = 'r' and m.reltuples >= 0 and (m.oid = c.oid or m.oid in (
                    select p.relid from pg_catalog.pg_partition_tree(c.oid) p)))
            from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
            where c.oid = pg_catalog.to_regclass(\(written)) and c.relkind in ('r', 'p')
            """
        )
        guard !row.isEmpty else {
            throw JobFailure("there is no table \(written)", sqlstate: "42P01")
        }
        oid = try row.required(0, 0)
        name = try row.required(0, 1)
        isPartitioned = try row.required(0, 2)
        filenode = try row.required(0, 3)
        expectedRows = try row.value(0, 4)
        let columns = try connection.query(
            """
            with best as (
                select i.indexrelid, i.indkey, i.indnkeyatts from pg_catalog.pg_index i
                join pg_catalog.pg_class c on c.oid = i.indexrelid
                join pg_catalog.pg_am m on m.oid = c.relam and m.amname = 'btree'
                where i.indrelid = \(oid)::oid and i.indisunique and i.indisvalid and i.indimmediate
                    and i.indpred is null and i.indexprs is null
                    and not exists (
                        select from unnest(i.indkey) with ordinality as k (attnum, n)
                        join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
                        where k.n <= i.indnkeyatts
                            and (not a.attnotnull or i.indoption[k.n - 1] <> 0
                                or i.indcollation[k.n - 1] <> a.attcollation))
                order by i.indisprimary desc, i.indnkeyatts, i.indexrelid limit 1)
            select a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod)
            from best cross join lateral unnest(best.indkey) with ordinality as k (attnum, n)
            join pg_catalog.pg_attribute a on a.attrelid = \(oid)::oid and a.attnum = k.attnum
            where k.n <= best.indnkeyatts order by k.n
            """
        )
        key = try (0..<columns.count).map { row in
            KeyColumn(name: try columns.required(row, 0), type: try columns.required(row, 1))
        }
    }

    /// The key's columns behind an alias, with commas between them.
    func keyList(_ alias: String, _ suffix: String = "") -> String {
        key.map { "\(alias).\(quoted(identifier: $0.name))\(suffix)" }.joined(separator: ", ")
    }

    /// The key's values as text that its types read back to the same.
    func keyTexts(_ alias: String) -> String {
        key.map { "pg_catalog.format('%s', \(alias).\(quoted(identifier: $0.name)))" }.joined(
            separator: ", "
        )
    }

    /// A key as the types of its columns read it.
    func keyLiteral(_ values: [String]) -> String {
        let parts = zip(values, key).map { "\(quoted(literal: $0))::\($1.type)" }
        return "(\(parts.joined(separator: ", ")))"
    }
}
