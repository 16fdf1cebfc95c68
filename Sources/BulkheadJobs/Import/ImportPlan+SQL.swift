internal import Bulkhead
internal import Postgres

extension ImportPlan {
    var columnList: String {
        columns.map { quoted(identifier: $0.name) }.joined(separator: ", ")
    }

    /// Straight into the table.
    var copyIntoTarget: SQL {
        SQL(unsafe: "copy \(target.name) (\(columnList)) from stdin")
    }

    /// The temporary table takes the values as the table's types, so that a bad one is refused with its
    /// line and column; rows are numbered to be found again.
    var createStage: String {
        let columns = columns.enumerated().map {
            "bulkhead_c\($0.offset + 1) \($0.element.type)\($0.element.collation)"
        }
        return """
            create temporary table if not exists pg_temp.\(stage)
            (bulkhead_n int, \(mayMissKeys ? "bulkhead_missing smallint[], " : "")\(columns.joined(separator: ", "))) on commit delete rows
            """
    }

    /// The sequence that notes which row a statement is at.
    var trace: String { "pg_temp.\(stage)_row" }

    /// With it goes an index, since rows are moved piece by piece then.
    var createTrace: String {
        """
        create temporary sequence if not exists \(trace);
        create index if not exists \(stage)_n on pg_temp.\(stage) (bulkhead_n)
        """
    }

    /// Empties itself at the end of a transaction only.
    var emptyStage: String { "truncate pg_temp.\(stage)" }

    var copyIntoStage: SQL {
        SQL(unsafe: "copy pg_temp.\(stage) from stdin")
    }

    /// Whether an error is a conflict of the key that the policy is about, or of its like on a partition.
    func isKeyConflict(_ error: PostgresError, _ connection: Connection) throws -> Bool {
        guard !key.columns.isEmpty, let schema = error.schema, let constraint = error.constraint
        else {
            return false
        }
        let row = try connection.query(
            """
            select coalesce((
                select pg_catalog.array_agg(a.attname::text order by a.attname::text)
                    = (select pg_catalog.array_agg(k order by k)
                       from pg_catalog.unnest(\(key.columns.map(\.name))::text[]) k)
                from pg_catalog.pg_class c
                join pg_catalog.pg_namespace n on n.oid = c.relnamespace
                join pg_catalog.pg_index i on i.indexrelid = c.oid
                join pg_catalog.pg_attribute a on a.attrelid = i.indrelid
                    and a.attnum = any ((i.indkey::int2[])[0:i.indnkeyatts - 1])
                where n.nspname = \(schema) and c.relname = \(constraint)
                    and i.indisunique and i.indpred is null and i.indexprs is null), false)
            """
        )
        return try row.required(0, 0)
    }
}
