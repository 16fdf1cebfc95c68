internal import Bulkhead
internal import Postgres

extension ImportPlan {
    private var columnList: String {
        columns.map { quoted(identifier: $0.name) }.joined(separator: ", ")
    }

    /// Straight into the table.
    var copyIntoTarget: SQL {
        SQL(unsafe: "copy \(target.name) (\(columnList)) from stdin")
    }

    /// The temporary table takes the values as the table's types, so that a bad one is refused with its
    /// line and column; rows are numbered to be found again.
    var createStage: String {
        let columns = columns.enumerated().map { "bulkhead_c\($0.offset + 1) \($0.element.type)" }
        return """
            create temporary table if not exists pg_temp.\(stage)
            (bulkhead_n int, \(columns.joined(separator: ", "))) on commit delete rows
            """
    }

    var copyIntoStage: SQL {
        SQL(unsafe: "copy pg_temp.\(stage) from stdin")
    }

    /// Moves staged rows into the table.
    func insert(from source: SQL) -> SQL {
        let staged = columns.indices.map { "s.bulkhead_c\($0 + 1)" }.joined(separator: ", ")
        let conflict =
            policy == .skip
            ? "on conflict (\(key.map { quoted(identifier: $0.name) }.joined(separator: ", "))) do nothing"
            : ""
        return """
            insert into \(unsafe: target.name) (\(unsafe: columnList))
            select \(unsafe: staged) from \(source)
            order by s.bulkhead_n
            \(unsafe: conflict)
            """
    }

    /// Moves staged rows into the table and publishes their keys; returns how many went in.
    func insertPublishing(from source: SQL, job: Int64) -> SQL {
        """
        with inserted as (
            \(insert(from: source))
            returning \(unsafe: feedID) as id
        ), numbered as (
            select id, (pg_catalog.row_number() over () - 1) / 10000 as part from inserted
        ), published as (
            insert into bulkhead.change (relation, operation, ids, job)
            select \(target.relation), 'insert', pg_catalog.jsonb_agg(id), \(job)
            from numbered group by part
        )
        select count(*) from inserted
        """
    }

    private var feedID: String {
        let values = target.primaryKey.map(\.feedValue)
        return values.count == 1
            ? values[0] : "pg_catalog.jsonb_build_array(\(values.joined(separator: ", ")))"
    }

    /// Whether an error is a conflict of the key that the policy is about, or of its like on a partition.
    func isKeyConflict(_ error: PostgresError, _ connection: Connection) throws -> Bool {
        guard !key.isEmpty, let schema = error.schema, let constraint = error.constraint else {
            return false
        }
        let row = try connection.query(
            """
            select coalesce((
                select pg_catalog.array_agg(a.attname::text order by a.attname::text)
                    = (select pg_catalog.array_agg(k order by k)
                       from pg_catalog.unnest(\(key.map(\.name))::text[]) k)
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
