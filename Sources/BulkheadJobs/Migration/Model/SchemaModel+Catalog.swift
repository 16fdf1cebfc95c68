internal import Bulkhead
public import Postgres

/// A model of what is there, and what no model can say of it.
public struct CatalogModel {
    /// The tables.
    public let model: SchemaModel
    /// What is there and cannot be modelled, in words.
    public let notes: [String]

    /// Reads the tables of a schema.
    ///
    /// - Parameters:
    ///   - schema: The schema's name.
    ///   - connection: Reads them in one transaction, in which names of the schema are written without it.
    /// - Throws: `JobFailure` when there is no such schema.
    public init(schema: String, _ connection: Connection) throws {
        self = try connection.transaction { connection in
            let exists: Bool = try connection.query(
                "select exists (select from pg_catalog.pg_namespace where nspname = \(schema))"
            ).required(0, 0)
            guard exists else {
                throw JobFailure("there is no schema \(schema): create it, or name another one")
            }
            return try CatalogModel(
                schema: schema,
                path: [schema],
                connection
            )
        }
    }

    /// Reads the tables of a schema inside a transaction.
    init(schema: String, path: [String], _ connection: Connection) throws {
        let names = path.map { quoted(identifier: $0) }.joined(separator: ", ")
        try connection.query("select pg_catalog.set_config('search_path', \(names), true)")
        var tables: [String: TableModel] = [:]
        var notes: [String] = []
        let rows = try connection.query(
            """
            select c.oid::bigint, c.relname,
                case when c.relkind = 'p' then 'is partitioned'
                     when c.relispartition then 'is a partition'
                     when c.relkind = 'f' then 'is a foreign table'
                     when c.relpersistence = 'u' then 'is unlogged'
                     when exists (select from pg_catalog.pg_inherits h where h.inhrelid = c.oid)
                        then 'inherits from another table' end
            from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
            where n.nspname = \(schema) and c.relkind in ('r', 'p', 'f')
            order by c.relname
            """
        )
        for row in 0..<rows.count {
            let name: String = try rows.required(row, 1)
            if let reason: String = try rows.value(row, 2) {
                notes.append("\(name) \(reason)")
                continue
            }
            tables[name] = try TableModel(rows.required(row, 0), connection)
        }
        model = SchemaModel(schema: schema, tables: tables)
        self.notes = notes
    }
}

extension TableModel {
    fileprivate init(_ oid: Int64, _ connection: Connection) throws {
        let constraints = try connection.query(
            """
            select conname, pg_catalog.pg_get_constraintdef(oid) from pg_catalog.pg_constraint
            where conrelid = \(oid)::oid and contype in ('p', 'u', 'c', 'f', 'x')
            """
        )
        let indexes = try connection.query(
            """
            select c.relname, case when i.indisunique then 'unique ' else '' end || pg_catalog.regexp_replace(
                pg_catalog.pg_get_indexdef(c.oid), '^CREATE (UNIQUE )?INDEX .* ON .*? USING ', 'using ')
            from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indexrelid
            where i.indrelid = \(oid)::oid and i.indisvalid and not exists (
                select from pg_catalog.pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x'))
            """
        )
        self.init(
            columns: try Self.columns(oid, connection),
            constraints: try Self.dictionary(constraints),
            indexes: try Self.dictionary(indexes)
        )
    }

    private static func dictionary(_ rows: borrowing Rows) throws -> [String: String] {
        var found: [String: String] = [:]
        for row in 0..<rows.count {
            found[try rows.required(row, 0)] = try rows.required(row, 1, as: String.self)
        }
        return found
    }

    private static func columns(_ oid: Int64, _ connection: Connection) throws -> [ColumnModel] {
        let rows = try connection.query(
            """
            select a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod) || case
                    when a.attcollation not in (0, t.typcollation)
                        then (select ' collate ' || pg_catalog.quote_ident(l.collname) from pg_catalog.pg_collation l
                              where l.oid = a.attcollation) else '' end,
                a.attnotnull, case when a.attgenerated = '' and serial.name is null
                    then pg_catalog.pg_get_expr(d.adbin, d.adrelid) end,
                case a.attidentity when 'a' then 'always' when 'd' then 'by default' end,
                case when a.attgenerated <> '' then pg_catalog.pg_get_expr(d.adbin, d.adrelid) end,
                serial.name is not null
            from pg_catalog.pg_attribute a
            join pg_catalog.pg_type t on t.oid = a.atttypid
            left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
            left join lateral (
                select s.relname as name
                from pg_catalog.pg_depend p
                join pg_catalog.pg_class s on s.oid = p.objid and s.relkind = 'S'
                join pg_catalog.pg_depend u on u.classid = 'pg_attrdef'::regclass and u.objid = d.oid and u.refobjid = s.oid
                where p.refclassid = 'pg_class'::regclass and p.refobjid = a.attrelid and p.refobjsubid = a.attnum
                    and p.deptype = 'a') as serial on a.attidentity = ''
            where a.attrelid = \(oid)::oid and a.attnum > 0 and not a.attisdropped
            order by a.attnum
            """
        )
        return try (0..<rows.count).map { row in
            var column = ColumnModel(
                name: try rows.required(row, 0),
                type: try rows.required(row, 1),
                isRequired: try rows.required(row, 2)
            )
            column.defaultValue = try rows.value(row, 3)
            column.identity = try rows.value(row, 4)
            column.generated = try rows.value(row, 5)
            column.isSerial = try rows.required(row, 6)
            return column
        }
    }
}
