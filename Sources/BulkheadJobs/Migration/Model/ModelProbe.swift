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
        /// By writing the whole table anew, with every value as it was.
        case rewrite
        /// By writing the whole table anew, with a cast that may cut, round or refuse a value.
        case lossy
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
            if try filenode(connection) == before { return .free }
            try connection.run(script: "create table pair (old \(old), new \(new))")
            return try keepsEveryValue(connection) ? .rewrite : .lossy
        }
    }

    /// Only of what is known to be wider: of any other cast nobody can say what it does to a value.
    private func keepsEveryValue(_ connection: Connection) throws -> Bool {
        try connection.query(
            """
            with side as (
                select attnum as n, atttypid::regtype::text as type, atttypmod as modifier,
                    case atttypid when 'int2'::regtype then 5 when 'int4'::regtype then 10 when 'int8'::regtype then 19
                        when 'numeric'::regtype then ((atttypmod - 4) >> 16) - ((((atttypmod - 4) & 2047) # 1024) - 1024)
                        end as whole,
                    case when atttypid = 'numeric'::regtype then (((atttypmod - 4) & 2047) # 1024) - 1024
                        else 0 end as scale
                from pg_catalog.pg_attribute where attrelid = 'pair'::regclass and attnum > 0)
            select case
                when new.type = 'numeric' and old.type in ('smallint', 'integer', 'bigint', 'numeric')
                    then new.modifier = -1 or old.type <> 'numeric' and new.whole >= old.whole and new.scale >= 0
                        or old.modifier <> -1 and new.whole >= old.whole and new.scale >= old.scale
                when new.type in ('character varying', 'character') and old.type in ('character varying', 'character')
                    then new.modifier = -1 and new.type <> 'character'
                        or old.modifier <> -1 and new.modifier >= old.modifier
                            and (new.type = old.type or new.type = 'character varying')
                else new.modifier = -1 and (old.type, new.type) in (
                    ('smallint', 'integer'), ('smallint', 'bigint'), ('integer', 'bigint'),
                    ('real', 'double precision'), ('character', 'text'), ('character varying', 'text'),
                    ('date', 'timestamp without time zone')) end
            from side as old, side as new where old.n = 1 and new.n = 2
            """
        ).required(0, 0)
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

    /// The functions and triggers of the schema.
    func names() throws -> Set<String> {
        let rows = try connection.query(
            """
            select p.proname from pg_catalog.pg_proc p
            join pg_catalog.pg_namespace n on n.oid = p.pronamespace where n.nspname = \(schema)
            union select t.tgname from pg_catalog.pg_trigger t
            join pg_catalog.pg_class c on c.oid = t.tgrelid
            join pg_catalog.pg_namespace n on n.oid = c.relnamespace where n.nspname = \(schema)
            """
        )
        return Set(try (0..<rows.count).map { try rows.required($0, 0, as: String.self) })
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
