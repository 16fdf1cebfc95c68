internal import Postgres

/// A column of a table whose rows are archived.
struct ArchivedColumn {
    /// Quoted for SQL.
    let name: String
    /// As it is.
    let plainName: String
    /// With its modifier, as SQL.
    let type: String
    /// Whether its values are JSON numbers or booleans as they stand.
    let isBare: Bool
    /// Whether its type is written by a cast to text that comes with the server and loses nothing, as that of
    /// `character` loses blanks.
    let isBuiltIn: Bool
    let isGenerated: Bool
    /// As SQL.
    let defaultValue: String?

    static func all(of oid: Int64, _ connection: Connection) throws -> [ArchivedColumn] {
        let rows = try connection.query(
            """
            select pg_catalog.quote_ident(a.attname), pg_catalog.format_type(a.atttypid, a.atttypmod),
                a.atttypid in ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'bool'::regtype),
                bulkhead.is_built_in(a.atttypid) and (
                    select t.typoutput <> 'pg_catalog.bpcharout'::regproc from pg_catalog.pg_type t
                    where t.oid = a.atttypid), a.attgenerated <> '', a.attname,
                case when a.attgenerated = '' then (
                    select pg_catalog.pg_get_expr(d.adbin, d.adrelid) from pg_catalog.pg_attrdef d
                    where d.adrelid = a.attrelid and d.adnum = a.attnum) end
            from pg_catalog.pg_attribute a
            where a.attrelid = \(oid)::oid and a.attnum > 0 and not a.attisdropped order by a.attnum
            """
        )
        return try (0..<rows.count).map { row in
            ArchivedColumn(
                name: try rows.required(row, 0),
                plainName: try rows.required(row, 5),
                type: try rows.required(row, 1),
                isBare: try rows.required(row, 2),
                isBuiltIn: try rows.required(row, 3),
                isGenerated: try rows.required(row, 4),
                defaultValue: try rows.value(row, 6)
            )
        }
    }

    /// Its value in a row, in the form in which it goes into JSON: as text, so that what reads it back is the type's
    /// own input function and no digit or blank changes.
    func jsonValue(_ row: String) -> String {
        if isBare { return "\(row).\(name)" }
        // A cast to text of another type may be anybody's function; and IS NOT NULL would ask a composite value for
        // each of its fields.
        return isBuiltIn
            ? "\(row).\(name)::text as \(name)"
            : "case when \(row).\(name) is distinct from null then pg_catalog.format('%s', \(row).\(name)) end as \(name)"
    }
}

extension ArchivedColumn {
    /// Its value in a JSON object of the archive, as SQL.
    func value(in line: String) -> String {
        "(\(line) ->> \(quoted(literal: plainName)))::\(type) as \(name)"
    }
}

extension [ArchivedColumn] {
    /// A row as one JSON object, as SQL.
    func jsonLine(_ row: String) -> String {
        let values = map { $0.jsonValue(row) }.joined(separator: ", ")
        return "(select pg_catalog.to_json(bulkhead_x)::text from (select \(values)) as bulkhead_x)"
    }
}
