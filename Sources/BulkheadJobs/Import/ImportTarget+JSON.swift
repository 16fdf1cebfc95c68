internal import Bulkhead
internal import Postgres

extension ImportTarget.Column {
    /// Why no line of JSON can fill it: one that lacks a privilege stops only the lines that name it.
    fileprivate var refusalOfKeys: String? {
        if let refusal { return refusal }
        if !isInsertable { return "cannot be filled: the daemon's role may not insert into it" }
        if !maySetSequence {
            return "cannot be filled: the daemon's role may not move its sequence"
        }
        return nil
    }
}

extension ImportTarget {
    /// The columns as lines of JSON may fill them: all that take values.
    ///
    /// None is required, since each line has keys of its own.
    var tableForJSON: [TableColumn] {
        columns.map { TableColumn($0.name, isGenerated: $0.refusalOfKeys != nil) }
    }

    /// What writes lines of JSON as rows of the given columns.
    ///
    /// - Throws: `JobFailure` when `--map` does not fit the table.
    func jsonEncoder(
        _ filled: [String],
        _ renames: [ColumnRename],
        _ connection: Connection
    ) throws -> JSONRowEncoder {
        let forms = try jsonForms(connection)
        let positions = Dictionary(
            filled.enumerated().map { ($0.element, $0.offset) },
            uniquingKeysWith: { first, _ in first }
        )
        do throws(MappingError) {
            let keys = try JSONKeys(
                columns: columns.map { column in
                    JSONKeys.Column(
                        name: column.name,
                        position: positions[column.name],
                        refusal: column.refusalOfKeys ?? ""
                    )
                },
                renames: renames
            )
            return JSONRowEncoder(
                columns: filled.map { name in
                    JSONRowEncoder.Column(name: name, form: forms[name] ?? .scalar)
                },
                keys: keys
            )
        } catch {
            throw JobFailure("\(name): \(error)")
        }
    }

    /// How each column takes JSON values; those that are not named take none that is nested.
    ///
    /// A domain takes what the type below it takes.
    private func jsonForms(_ connection: Connection) throws -> [String: JSONForm] {
        let rows = try connection.query(
            """
            with recursive base (attnum, type) as (
                select a.attnum, a.atttypid from pg_catalog.pg_attribute a
                where a.attrelid = \(oid)::oid and a.attnum > 0 and not a.attisdropped
                union all
                select b.attnum, t.typbasetype from base b
                join pg_catalog.pg_type t on t.oid = b.type and t.typtype = 'd'
            ), element (attnum, type, delimiter) as (
                select b.attnum, e.oid, e.typdelim from base b
                join pg_catalog.pg_type e on e.typarray = b.type
                union all
                select e.attnum, t.typbasetype, e.delimiter from element e
                join pg_catalog.pg_type t on t.oid = e.type and t.typtype = 'd'
            )
            select a.attname,
                exists (select from base b where b.attnum = a.attnum
                    and b.type in ('pg_catalog.json'::regtype, 'pg_catalog.jsonb'::regtype)),
                (select e.delimiter from element e where e.attnum = a.attnum limit 1),
                exists (select from element e where e.attnum = a.attnum
                    and e.type in ('pg_catalog.json'::regtype, 'pg_catalog.jsonb'::regtype))
            from pg_catalog.pg_attribute a
            where a.attrelid = \(oid)::oid and a.attnum > 0 and not a.attisdropped
            """
        )
        var forms: [String: JSONForm] = [:]
        for row in 0..<rows.count {
            let name: String = try rows.required(row, 0)
            if try rows.required(row, 1) {
                forms[name] = .json
            } else if let delimiter = try rows.value(row, 2, as: String.self)?.utf8.first {
                forms[name] = .array(delimiter: delimiter, isOfJSON: try rows.required(row, 3))
            }
        }
        return forms
    }
}
