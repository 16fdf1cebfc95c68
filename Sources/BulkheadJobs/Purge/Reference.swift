internal import Bulkhead
internal import Postgres

/// A foreign key by which another table refers to rows that a purge deletes.
struct Reference {
    /// The constraint's oid.
    let id: Int64
    let constraint: String
    /// The table that refers, quoted for SQL.
    let child: String
    let childOID: Int64
    /// Its columns and those that they refer to, quoted for SQL, and the key's own operators, the referenced
    /// side on the left.
    let columns: [Pair]
    let action: Action
    /// The columns that ON DELETE SET NULL or SET DEFAULT sets.
    let setColumns: [String]
    /// The table that is referred to.
    let parentOID: Int64
    let facts: Facts

    struct Pair {
        let child: String
        let parent: String
        let equals: String
    }

    enum Action: String {
        case noAction = "a"
        case restrict = "r"
        case cascade = "c"
        case setNull = "n"
        case setDefault = "d"

        var keepsParent: Bool { self == .noAction || self == .restrict }

        var words: String {
            switch self {
            case .noAction: "no action"
            case .restrict: "restrict"
            case .cascade: "cascade"
            case .setNull: "set null"
            case .setDefault: "set default"
            }
        }
    }

    struct Facts {
        /// Whether an index leads with the columns.
        let isIndexed: Bool
        let isEmpty: Bool
        let isPartitioned: Bool
        let isTracked: Bool
        /// Whether the role may read the columns.
        let isReadable: Bool
        /// Whether the role may delete or change the rows itself, and may see all of them.
        let isWritable: Bool
        let hasKey: Bool
        /// The name under which the feed speaks of the table.
        let relation: String
    }

    /// The keys that refer to a table or its partitions.
    static func referring(to oid: Int64, _ connection: Connection) throws -> [Reference] {
        let rows = try connection.query(
            """
            select c.conname, pg_catalog.format('%I.%I', n.nspname, t.relname), t.oid::bigint, c.confdeltype,
                c.confrelid::bigint,
                exists (
                    select from pg_catalog.pg_index i
                    where i.indrelid = t.oid and i.indisvalid and i.indpred is null
                        and (i.indkey::int2[])[0:pg_catalog.cardinality(c.conkey) - 1] @> c.conkey
                        and (i.indkey::int2[])[0:pg_catalog.cardinality(c.conkey) - 1] <@ c.conkey),
                t.relkind <> 'p' and pg_catalog.pg_relation_size(t.oid) = 0,
                t.relkind = 'p', coalesce(bulkhead.is_tracked(t.oid), false),
                pg_catalog.has_table_privilege(t.oid, 'SELECT') and not pg_catalog.row_security_active(t.oid),
                pg_catalog.has_table_privilege(t.oid,
                    case c.confdeltype when 'c' then 'DELETE' else 'UPDATE' end),
                (bulkhead.feed_key(t.oid)).key is not null, (bulkhead.feed_key(t.oid)).relation, c.oid::bigint
            from pg_catalog.pg_constraint c
            join pg_catalog.pg_class t on t.oid = c.conrelid
            join pg_catalog.pg_namespace n on n.oid = t.relnamespace
            where c.contype = 'f' and c.conparentid = 0
                and c.confrelid = any (\(unsafe: PurgeTable.members("\(oid)::oid")))
            order by t.oid, c.oid
            """
        )
        return try (0..<rows.count).map { row in
            let constraint: String = try rows.required(row, 0)
            let child: Int64 = try rows.required(row, 2)
            guard let action = Action(rawValue: try rows.required(row, 3)) else {
                throw JobFailure("constraint \(constraint) has an unknown action on delete")
            }
            let columns = try Self.columns(constraint, of: child, connection)
            return Reference(
                id: try rows.required(row, 13),
                constraint: constraint,
                child: try rows.required(row, 1),
                childOID: child,
                columns: columns.pairs,
                action: action,
                setColumns: columns.set,
                parentOID: try rows.required(row, 4),
                facts: Facts(
                    isIndexed: try rows.required(row, 5),
                    isEmpty: try rows.required(row, 6),
                    isPartitioned: try rows.required(row, 7),
                    isTracked: try rows.required(row, 8),
                    isReadable: try rows.required(row, 9),
                    isWritable: try rows.required(row, 10),
                    hasKey: try rows.required(row, 11),
                    relation: try rows.required(row, 12)
                )
            )
        }
    }

    private static func columns(
        _ constraint: String,
        of child: Int64,
        _ connection: Connection
    ) throws -> (pairs: [Pair], set: [String]) {
        let rows = try connection.query(
            """
            select pg_catalog.quote_ident(a.attname), pg_catalog.quote_ident(f.attname),
                pg_catalog.format('operator(%I.%s)', opn.nspname, op.oprname),
                coalesce(k.attnum = any (nullif(c.confdelsetcols, '{}')), true)
            from pg_catalog.pg_constraint c
            cross join lateral unnest(c.conkey, c.confkey, c.conpfeqop)
                with ordinality as k (attnum, fattnum, eqop, n)
            join pg_catalog.pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.attnum
            join pg_catalog.pg_attribute f on f.attrelid = c.confrelid and f.attnum = k.fattnum
            join pg_catalog.pg_operator op on op.oid = k.eqop
            join pg_catalog.pg_namespace opn on opn.oid = op.oprnamespace
            where c.conrelid = \(child)::oid and c.conname = \(constraint)
            order by k.n
            """
        )
        var pairs: [Pair] = []
        var set: [String] = []
        for row in 0..<rows.count {
            let column: String = try rows.required(row, 0)
            pairs.append(
                Pair(
                    child: column,
                    parent: try rows.required(row, 1),
                    equals: try rows.required(row, 2)
                )
            )
            if try rows.required(row, 3, as: Bool.self) { set.append(column) }
        }
        return (pairs, set)
    }

    /// Refuses what a purge of a table could not archive, or a restore not bring back.
    ///
    /// - Throws: `JobFailure`.
    func requireArchivable(_ table: PurgeTable) throws {
        let reason: String? =
            if !facts.isReadable {
                "this role may not read all of its rows"
            } else if !facts.isWritable {
                "this role may not \(action == .cascade ? "delete from" : "update") it"
            } else if action != .cascade, !facts.hasKey {
                "it has no primary key"
            } else if table.oid != parentOID, !table.leaves.contains(parentOID), facts.isPartitioned
            {
                "it refers to a part of another table"
            } else {
                nil
            }
        guard let reason else { return }
        throw JobFailure(
            "what a purge of \(table.name) changes in \(child) by \(constraint) (on delete \(action.words)) cannot "
                + "be archived, since \(reason): grant it, or purge without archive"
        )
    }

    /// The child as its key's check reads it.
    var scanned: String { facts.isPartitioned ? child : "only \(child)" }

    /// Whether a row of the child refers to a row of the parent, as SQL.
    func matches(parent: String, child: String) -> String {
        columns.map { "\(parent).\($0.parent) \($0.equals) \(child).\($0.child)" }.joined(
            separator: " and "
        )
    }
}
