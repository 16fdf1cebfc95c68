internal import Bulkhead
internal import Postgres

/// Which rows a purge takes, as SQL over the table's alias: fixed once, at the start of the job.
struct PurgeCondition {
    let sql: String
    /// Where rows are chosen by their age: the value that they are below, as SQL.
    let cutoff: String?

    /// Fixes the condition that a job asks for.
    ///
    /// - Throws: `JobFailure` when it is no boolean expression over the table, or would mean something else
    ///   at each look.
    init(_ arguments: PurgeArguments, _ table: PurgeTable, _ connection: Connection) throws {
        if let condition = arguments.condition {
            sql = try connection.transaction { connection in
                try connection.takingBack {
                    try Self.expression(condition, arguments, table, connection)
                }
            }
            cutoff = nil
        } else if let column = arguments.columnName, let age = arguments.olderThan {
            let cutoff = try Self.cutoff(column, age, arguments.timezone, table, connection)
            sql = "(\(table.alias).\(quoted(identifier: column)) < \(cutoff))"
            self.cutoff = cutoff
        } else {
            sql = "true"
            cutoff = nil
        }
    }

    /// Rows older than an age: the cutoff is a moment, a local time or a day, as the column's type means it.
    private static func cutoff(
        _ column: String,
        _ age: String,
        _ timezone: String?,
        _ table: PurgeTable,
        _ connection: Connection
    ) throws -> String {
        let row = try connection.query(
            """
            with fixed as (
                select now() - \(age)::interval as moment, \(timezone ?? "UTC")::text as zone)
            select pg_catalog.format('%L::%s',
                case base.oid
                    when 'timestamptz'::regtype then f.moment::text
                    when 'timestamp'::regtype then (f.moment at time zone f.zone)::text
                    when 'date'::regtype then (f.moment at time zone f.zone)::date::text end,
                base.oid::regtype)
            from fixed f
            cross join pg_catalog.pg_attribute a
            join pg_catalog.pg_type t on t.oid = a.atttypid
            cross join lateral (select coalesce(nullif(t.typbasetype, 0), t.oid) as oid) as base
            where a.attrelid = \(table.oid)::oid and a.attname = \(column) and a.attnum > 0
                and base.oid in ('timestamptz'::regtype, 'timestamp'::regtype, 'date'::regtype)
            """
        )
        guard !row.isEmpty else {
            throw JobFailure("\(table.name) has no column \(column) of a date or time")
        }
        return try row.required(0, 0)
    }

    // MARK: An expression

    /// The server parses the expression as the condition of a view, and writes it back: with every name in full,
    /// with constants for what 'now' or 'today' mean, and as a tree that tells which functions it calls.
    private static func expression(
        _ condition: String,
        _ arguments: PurgeArguments,
        _ table: PurgeTable,
        _ connection: Connection
    ) throws -> String {
        try requireTemporary(connection)
        let path = (arguments.searchPath ?? []).map { quoted(identifier: $0) }
        try connection.query(
            "select pg_catalog.set_config('search_path', \((path + ["pg_temp"]).joined(separator: ", ")), true)"
        )
        let source = "from \(table.name) as \(table.alias)"
        do throws(PostgresError) {
            // Only an expression can stand both between round and between square brackets; and each of these
            // is one statement, or the server refuses it.
            try connection.query(
                SQL(unsafe: "explain select \(source) where (array[\n\(condition)\n])[1]")
            )
            try connection.query(
                SQL(
                    unsafe:
                        "create temporary view bulkhead_condition as select \(source) where (\n\(condition)\n)"
                )
            )
        } catch {
            // The last is what a parameter in it, for which there is no value, comes to.
            guard
                error.kind == .permanent || error.kind == .badData
                    || error.state == .protocolViolation
            else { throw error }
            throw JobFailure(
                "the condition is not one boolean expression over \(table.name): \(error.message)",
                sqlstate: error.state?.rawValue
            )
        }
        try connection.query(
            SQL(unsafe: "create temporary view bulkhead_source as select \(source)")
        )
        try refuseVolatile(table, connection)
        try refuseOwnRows(table, connection)
        let text = try deparsed(connection)
        return try FrozenClock(connection).freeze(text)
    }

    private static func requireTemporary(_ connection: Connection) throws {
        let row = try connection.query(
            """
            select pg_catalog.has_database_privilege(pg_catalog.current_database(), 'TEMPORARY'),
                pg_catalog.quote_ident(pg_catalog.current_database()), pg_catalog.quote_ident(current_user)
            """
        )
        guard try !row.required(0, 0, as: Bool.self) else { return }
        let database: String = try row.required(0, 1)
        let role: String = try row.required(0, 2)
        throw JobFailure(
            "a condition is looked at as a temporary view, which this role may not make: "
                + "grant temporary on database \(database) to \(role)",
            sqlstate: SQLState.insufficientPrivilege.rawValue
        )
    }

    private static func deparsed(_ connection: Connection) throws -> String {
        try connection.query("select pg_catalog.set_config('search_path', 'pg_catalog', true)")
        let row = try connection.query(
            """
            select pg_catalog.pg_get_viewdef('pg_temp.bulkhead_condition'::regclass),
                pg_catalog.rtrim(pg_catalog.pg_get_viewdef('pg_temp.bulkhead_source'::regclass), ';')
            """
        )
        let whole: String = try row.required(0, 0)
        let source: String = try row.required(0, 1)
        var text = whole.dropFirst(source.count).drop(while: \.isWhitespace)
        guard whole.hasPrefix(source), text.hasPrefix("WHERE "), text.last == ";" else {
            throw JobFailure(
                "the server wrote the condition in a way that is not understood: \(whole)"
            )
        }
        text = text.dropFirst("WHERE ".count).dropLast()
        return "(\(text))"
    }

    /// What a purge deletes must not change what it deletes next.
    private static func refuseOwnRows(_ table: PurgeTable, _ connection: Connection) throws {
        let row = try connection.query(
            """
            with recursive own as (
                select o.oid from pg_catalog.unnest(\(unsafe: PurgeTable.members("\(table.oid)::oid"))) as o (oid)
            ), named as (
                select m[1]::oid as id from pg_catalog.pg_rewrite w
                cross join lateral pg_catalog.regexp_matches(w.ev_action::text, ':relid (\\d+)', 'g') m
                where w.ev_class = 'pg_temp.bulkhead_condition'::regclass
            ), below as (
                select n.id from named n
                where n.id <> 'pg_temp.bulkhead_condition'::regclass and n.id not in (select own.oid from own)
                union
                select d.refobjid from below
                join pg_catalog.pg_rewrite w on w.ev_class = below.id
                join pg_catalog.pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
                    and d.refclassid = 'pg_class'::regclass and d.refobjid <> below.id
            )
            select (select count(*) from named n join own on own.oid = n.id) > 1
                or exists (select from below b join own on own.oid = b.id)
            """
        )
        guard try row.required(0, 0, as: Bool.self) else { return }
        throw JobFailure(
            "the condition looks at other rows of \(table.name), which the purge itself deletes, batch after batch: put "
                + "what it looks for into a table of its own first, and look there"
        )
    }

    /// The view's stored tree names the functions and operators that it calls.
    private static func refuseVolatile(_ table: PurgeTable, _ connection: Connection) throws {
        let rows = try connection.query(
            """
            with tree as (
                select w.ev_action::text as text from pg_catalog.pg_rewrite w
                where w.ev_class = 'pg_temp.bulkhead_condition'::regclass)
            select distinct p.oid::regprocedure::text
            from tree
            cross join lateral (
                select m[1]::oid as id from pg_catalog.regexp_matches(tree.text,
                    ':(?:funcid|opfuncid|aggfnoid|winfnoid) (\\d+)', 'g') m
                union
                select o.oprcode from pg_catalog.regexp_matches(tree.text, ':opno (\\d+)', 'g') m
                join pg_catalog.pg_operator o on o.oid = m[1]::oid
                union
                select f.oid from pg_catalog.pg_proc f
                where tree.text like '%{TABLESAMPLECLAUSE%' and f.oid = 'pg_catalog.random()'::regprocedure
            ) as called
            join pg_catalog.pg_proc p on p.oid = called.id and p.provolatile = 'v'
            """
        )
        guard !rows.isEmpty else { return }
        let names = try (0..<rows.count).map { try rows.required($0, 0, as: String.self) }
        throw JobFailure(
            "the condition calls \(names.sorted().joined(separator: ", ")), which gives another answer each time: "
                + "purge by values of the rows alone"
        )
    }
}
