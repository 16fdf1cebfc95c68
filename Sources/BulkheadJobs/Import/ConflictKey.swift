internal import Bulkhead
internal import Postgres

/// The columns that decide whether a row is there already, and how the server compares them.
struct ConflictKey {
    let columns: [ImportTarget.Column]
    /// The index's own equality for each column, as SQL: `=` alone may find another, such as text's for
    /// citext.
    private let operators: [String]
    /// Whether the index takes one NULL for another.
    let nullsAreEqual: Bool

    /// No row can conflict with another.
    static let none = ConflictKey(columns: [], operators: [])

    private init(
        columns: [ImportTarget.Column],
        operators: [String],
        nullsAreEqual: Bool = false
    ) {
        self.columns = columns
        self.operators = operators
        self.nullsAreEqual = nullsAreEqual
    }

    /// The primary key, or the columns that the job names.
    ///
    /// - Throws: `JobFailure` when they cannot decide.
    init(
        _ target: ImportTarget,
        names: [String]?,
        policy: MergePolicy,
        _ connection: Connection
    ) throws {
        guard let names else {
            guard policy != .error else {
                self.init(columns: target.primaryKey, operators: [])
                return
            }
            guard !target.primaryKey.isEmpty else {
                throw JobFailure(
                    "\(target.name) has no primary key, so no row of it can conflict: "
                        + "name the columns of a unique index with --key"
                )
            }
            try self.init(checked: target.primaryKey, target, connection)
            return
        }
        let columns = try names.map { name in
            guard let column = target.column(name) else {
                throw JobFailure("--key names \(name), which is not a column of \(target.name)")
            }
            return column
        }
        try self.init(checked: columns, target, connection)
    }

    /// ON CONFLICT needs an index that decides at once, for all rows.
    private init(
        checked columns: [ImportTarget.Column],
        _ target: ImportTarget,
        _ connection: Connection
    ) throws {
        let names = columns.map(\.name)
        let rows = try connection.query(
            """
            with deciding as (
                select i.indexrelid, i.indrelid, (i.indkey::int2[])[0:i.indnkeyatts - 1] as attnums,
                    (i.indclass::oid[])[0:i.indnkeyatts - 1] as opclasses,
                    -- PostgreSQL 14 has no such column.
                    coalesce((pg_catalog.to_jsonb(i) ->> 'indnullsnotdistinct')::boolean, false) as nulls_are_equal
                from pg_catalog.pg_index i
                where i.indrelid = \(target.oid)::oid and i.indisunique and i.indisvalid and i.indimmediate
                    and i.indpred is null and i.indexprs is null
                    and (select pg_catalog.array_agg(a.attname::text order by a.attname::text)
                         from pg_catalog.pg_attribute a
                         where a.attrelid = i.indrelid
                           and a.attnum = any ((i.indkey::int2[])[0:i.indnkeyatts - 1]))
                        = (select pg_catalog.array_agg(k order by k)
                           from pg_catalog.unnest(\(names)::text[]) k)
                order by i.indisprimary desc, i.indexrelid
                limit 1
            )
            select pg_catalog.format('operator(%I.%s)', n.nspname, o.oprname), d.nulls_are_equal
            from deciding d
            cross join lateral rows from (pg_catalog.unnest(d.attnums), pg_catalog.unnest(d.opclasses)) as k (attnum, opclass)
            join pg_catalog.pg_attribute a on a.attrelid = d.indrelid and a.attnum = k.attnum
            join pg_catalog.pg_opclass c on c.oid = k.opclass
            join pg_catalog.pg_amop m on m.amopfamily = c.opcfamily and m.amopstrategy = 3
                and m.amoplefttype = c.opcintype and m.amoprighttype = c.opcintype
            join pg_catalog.pg_operator o on o.oid = m.amopopr
            join pg_catalog.pg_namespace n on n.oid = o.oprnamespace
            order by pg_catalog.array_position(\(names)::text[], a.attname::text)
            """
        )
        guard !rows.isEmpty else {
            throw JobFailure(
                "\(target.name) has no unique index over just (\(names.joined(separator: ", "))), neither partial "
                    + "nor deferrable, that could decide conflicts: create one, or name other columns with --key"
            )
        }
        self.init(
            columns: columns,
            operators: try (0..<rows.count).map { try rows.required($0, 0) },
            nullsAreEqual: try rows.required(0, 1)
        )
    }

    /// The columns as ON CONFLICT names them.
    var list: String {
        columns.map { quoted(identifier: $0.name) }.joined(separator: ", ")
    }

    /// Finds the stored row of a staged one.
    ///
    /// `stagedName` tells how the staged row calls a column.
    func matches(stored: String, stagedName: (ImportTarget.Column) -> String) -> String {
        matches(
            storedName: { "\(stored).\(quoted(identifier: $0.name))" },
            stagedName: stagedName
        )
    }

    func matches(
        storedName: (ImportTarget.Column) -> String,
        stagedName: (ImportTarget.Column) -> String
    ) -> String {
        zip(columns, operators).map { column, equals in
            let (one, other) = (storedName(column), stagedName(column))
            return nullsAreEqual
                ? "(\(one) \(equals) \(other) or \(one) is null and \(other) is null)"
                : "\(one) \(equals) \(other)"
        }.joined(separator: " and ")
    }
}
