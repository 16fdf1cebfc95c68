internal import Bulkhead
internal import Postgres

/// The table that an import fills, as the catalog describes it.
struct ImportTarget {
    let oid: Int64
    /// The name, quoted for SQL.
    let name: String
    /// The name under which the feed speaks of it: the root's, where it is a partition.
    let relation: String
    let columns: [Column]
    /// The columns of the primary key, in its order; none when there is no key.
    let primaryKey: [Column]
    let facts: Facts

    struct Column: Equatable {
        let name: String
        /// The type with its modifier, as SQL.
        let type: String
        /// The name of a built-in type: `int4`, `text`, ...; empty for any other.
        let typeName: String
        /// The type without its modifier, as SQL.
        let plainType: String
        /// The type of its arrays, as SQL; nil where there is none, or `unnest` would take its values apart.
        let arrayType: String?
        /// What stands between the elements of its arrays.
        let delimiter: String
        let hasModifier: Bool
        /// The collation, where it is another than the type's, as SQL; else empty.
        let collation: String
        let isRequired: Bool
        /// Why no value can be given for it; nil when one can.
        let refusal: String?
        /// The sequence that it owns, quoted for SQL.
        let sequence: String?
        let maySetSequence: Bool
        let isInsertable: Bool
        let isReadable: Bool
        let isUpdatable: Bool
        /// What a row that says nothing of it gets, as SQL; nil for NULL.
        let defaultValue: String?
        /// Whether its values are handed out by a sequence.
        let isSerial: Bool

        /// Whether the feed holds its values as JSON numbers.
        var isFeedNumber: Bool { typeName == "int2" || typeName == "int4" }

        /// Whether two values are equal only where they are the same bytes.
        var isEqualByImage: Bool {
            collation.isEmpty
                && [
                    "int2", "int4", "int8", "bool", "date", "timestamp", "timestamptz", "uuid",
                    "text",
                    "varchar",
                ].contains(typeName)
        }
    }

    /// What decides how rows can get into the table.
    struct Facts {
        let isView: Bool
        let isPartitioned: Bool
        /// Whether there are triggers, other than those that record changes.
        let hasTriggers: Bool
        let hasRules: Bool
        let hasRowSecurity: Bool
        /// Whether more than the key may keep a row out for another's sake.
        let hasSeveralUniqueIndexes: Bool
        let mayMakeTemporaryTables: Bool
        /// Whether the role may read whole rows, and with them the system columns.
        let isReadable: Bool
        /// Whether triggers record in the feed what anyone changes.
        let isTracked: Bool
        /// Whether RETURNING can speak of the row as it was before (PostgreSQL 18).
        let returnsOldRows: Bool
    }

    /// Looks the table up.
    ///
    /// - Throws: `JobFailure` when it is not there, or is of a sort that a crash would part from its
    ///   checkpoint.
    init(_ connection: Connection, name: String) throws {
        let row = try connection.query(Self.tableQuery(name))
        guard !row.isEmpty else {
            throw JobFailure("there is no table \(name)", sqlstate: "42P01")
        }
        if let refusal: String = try row.value(0, 3) { throw JobFailure("\(name) \(refusal)") }
        oid = try row.required(0, 0)
        self.name = try row.required(0, 1)
        relation = try row.required(0, 2)
        facts = Facts(
            isView: try row.required(0, 8),
            isPartitioned: try row.required(0, 9),
            hasTriggers: try row.required(0, 4),
            hasRules: try row.required(0, 5),
            hasRowSecurity: try row.required(0, 6),
            hasSeveralUniqueIndexes: try row.required(0, 12),
            mayMakeTemporaryTables: try row.required(0, 7),
            isReadable: try row.required(0, 10),
            isTracked: try row.required(0, 13),
            returnsOldRows: try row.required(0, 11)
        )
        columns = try Self.columns(connection, oid)
        let columns = self.columns
        let key = try connection.query(
            """
            select a.attname
            from pg_catalog.pg_index i
            cross join lateral unnest(i.indkey) with ordinality as k (attnum, n)
            join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
            where i.indrelid = \(oid)::oid and i.indisprimary and k.n <= i.indnkeyatts
            order by k.n
            """
        )
        primaryKey = try (0..<key.count).compactMap { row in
            let name: String = try key.required(row, 0)
            return columns.first { $0.name == name }
        }
    }

    /// A column by its exact name.
    func column(_ name: String) -> Column? {
        columns.first { $0.name == name }
    }

    private static func tableQuery(_ name: String) -> SQL {
        """
        select c.oid, pg_catalog.format('%I.%I', n.nspname, c.relname),
            (select pg_catalog.format('%I.%I', rn.nspname, r.relname)
             from pg_catalog.pg_class r join pg_catalog.pg_namespace rn on rn.oid = r.relnamespace
             where r.oid = coalesce(pg_catalog.pg_partition_root(c.oid), c.oid)),
            case
                when c.relkind = 'v' and not exists (
                    select from pg_catalog.pg_trigger t
                    where t.tgrelid = c.oid and t.tgtype & 64 > 0 and t.tgtype & 4 > 0 and t.tgenabled <> 'D')
                    then 'is a view without an INSTEAD OF INSERT trigger: import into the table behind it'
                when c.relkind not in ('r', 'p', 'v') then 'is not a table'
                when tree.temporary then 'is temporary: other sessions cannot see it'
                when tree.unlogged then 'is unlogged: a crash would empty it and keep the checkpoint'
                when tree.remote then 'has foreign partitions: they do not commit with the checkpoint'
            end,
            exists (
                select from pg_catalog.pg_trigger t
                where t.tgrelid = any (tree.members) and not t.tgisinternal and t.tgenabled <> 'D'
                    and t.tgfoid <> 'bulkhead.record_change()'::regprocedure),
            exists (select from pg_catalog.pg_rewrite w where w.ev_class = c.oid and w.ev_type = '3'),
            pg_catalog.row_security_active(c.oid),
            pg_catalog.has_database_privilege(pg_catalog.current_database(), 'TEMPORARY'),
            c.relkind = 'v', c.relkind = 'p', pg_catalog.has_table_privilege(c.oid, 'SELECT'),
            pg_catalog.current_setting('server_version_num')::int >= 180000,
            exists (
                select from pg_catalog.pg_index i
                where i.indrelid = any (tree.members) and (i.indisunique or i.indisexclusion)
                group by i.indrelid having count(*) > 1),
            coalesce(bulkhead.is_tracked(c.oid), false)
        from pg_catalog.pg_class c
        join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        cross join lateral (
            select pg_catalog.array_agg(m.oid) as members, bool_or(m.relpersistence = 't') as temporary,
                bool_or(m.relpersistence = 'u') as unlogged, bool_or(m.relkind = 'f') as remote
            from pg_catalog.pg_class m
            where m.oid = c.oid
               or m.oid in (select p.relid from pg_catalog.pg_partition_tree(c.oid) p)) as tree
        where c.oid = pg_catalog.to_regclass(\(name))
        """
    }

    private static func columns(_ connection: Connection, _ oid: Int64) throws -> [Column] {
        let rows = try connection.query(
            """
            select a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
                case when t.typnamespace = 'pg_catalog'::regnamespace then t.typname else '' end,
                a.atttypmod >= 0,
                a.attnotnull and not a.atthasdef and a.attidentity = '' and t.typdefault is null,
                case when a.attgenerated <> '' then 'is generated from other columns'
                     when a.attidentity = 'a' then 'is an identity column that is generated always' end,
                pg_catalog.format_type(a.atttypid, -1),
                case when t.typarray <> 0 and t.typcategory <> 'C'
                     then pg_catalog.format_type(t.typarray, -1) end,
                t.typdelim::text, q.sequence,
                pg_catalog.has_sequence_privilege(q.sequence, 'UPDATE')
                    and pg_catalog.has_sequence_privilege(q.sequence, 'USAGE, SELECT'),
                pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'INSERT'),
                pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT'),
                pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'UPDATE'),
                case when a.attidentity <> '' then pg_catalog.format('pg_catalog.nextval(%L::regclass)',
                        pg_catalog.pg_get_serial_sequence(\(oid)::oid::regclass::text, a.attname))
                     when a.attgenerated <> '' then null
                     else coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid),
                         pg_catalog.pg_get_expr(t.typdefaultbin, 0)) end,
                a.attidentity <> '' or exists (
                    select from pg_catalog.pg_depend p
                    join pg_catalog.pg_class q on q.oid = p.refobjid and q.relkind = 'S'
                    where p.classid = 'pg_catalog.pg_attrdef'::regclass and p.objid = d.oid
                        and p.refclassid = 'pg_catalog.pg_class'::regclass),
                case when a.attcollation <> t.typcollation then (
                    select pg_catalog.format(' collate %I.%I', n.nspname, l.collname)
                    from pg_catalog.pg_collation l
                    join pg_catalog.pg_namespace n on n.oid = l.collnamespace
                    where l.oid = a.attcollation) else '' end
            from pg_catalog.pg_attribute a
            join pg_catalog.pg_type t on t.oid = a.atttypid
            left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
            cross join lateral (
                select case when t.typcategory = 'N' then pg_catalog.pg_get_serial_sequence(
                    \(oid)::oid::regclass::text, a.attname) end as sequence) as q
            where a.attrelid = \(oid)::oid and a.attnum > 0 and not a.attisdropped
            order by a.attnum
            """
        )
        return try (0..<rows.count).map { row in
            Column(
                name: try rows.required(row, 0),
                type: try rows.required(row, 1),
                typeName: try rows.required(row, 2),
                plainType: try rows.required(row, 6),
                arrayType: try rows.value(row, 7),
                delimiter: try rows.required(row, 8),
                hasModifier: try rows.required(row, 3),
                collation: try rows.value(row, 16) ?? "",
                isRequired: try rows.required(row, 4),
                refusal: try rows.value(row, 5),
                sequence: try rows.value(row, 9),
                maySetSequence: try rows.value(row, 10) ?? true,
                isInsertable: try rows.required(row, 11),
                isReadable: try rows.required(row, 12),
                isUpdatable: try rows.required(row, 13),
                defaultValue: try rows.value(row, 14),
                isSerial: try rows.required(row, 15)
            )
        }
    }
}
