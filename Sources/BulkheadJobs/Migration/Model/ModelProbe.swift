internal import Bulkhead
internal import Postgres

/// Asks the server about types and defaults, in tables of a transaction that is rolled back.
struct ModelProbe {
    let schema: String
    let connection: Connection

    /// How the server changes a column's type.
    enum TypeChange: Equatable {
        /// In the catalog alone.
        case free
        /// By writing the whole table anew.
        case rewrite
        /// Not by itself: there is no cast that it would take.
        case needsExpression
    }

    func typeChange(from old: String, to new: String) throws -> TypeChange {
        try inScratch { connection in
            try connection.run(script: "create table t (c \(old))")
            let before = try filenode(connection)
            do {
                try connection.savepoint {
                    _ = try connection.run(script: "alter table t alter column c type \(new)").count
                }
            } catch is PostgresError {
                return .needsExpression
            }
            return try filenode(connection) == before ? .free : .rewrite
        }
    }

    /// Whether a default gives each row a value of its own, so that adding it writes the table anew.
    func isVolatile(_ column: ColumnModel) throws -> Bool {
        guard let value = column.defaultValue else { return false }
        return try inScratch { connection in
            try connection.run(script: "create table t (c \(column.type) default \(value))")
            return try connection.query(
                """
                select exists (
                    select from pg_catalog.pg_attrdef d
                    cross join lateral pg_catalog.regexp_matches(d.adbin::text,
                        ':(?:funcid|opfuncid) (\\d+)', 'g') m
                    join pg_catalog.pg_proc p on p.oid = m[1]::oid
                    where d.adrelid = 't'::regclass and p.provolatile = 'v')
                    or exists (
                        select from pg_catalog.pg_attrdef d
                        where d.adrelid = 't'::regclass and d.adbin::text like '%{NEXTVALUEEXPR%')
                """
            ).required(0, 0)
        }
    }

    private func filenode(_ connection: Connection) throws -> Int64 {
        try connection.query("select pg_catalog.pg_relation_filenode('t'::regclass)::bigint")
            .required(0, 0)
    }

    private func inScratch<Result>(_ body: (Connection) throws -> Result) throws -> Result {
        try connection.transaction { connection in
            try connection.takingBack {
                try connection.run(script: "create schema bulkhead_model")
                let path = "bulkhead_model, \(quoted(identifier: schema))"
                try connection.query("select pg_catalog.set_config('search_path', \(path), true)")
                return try body(connection)
            }
        }
    }
}
