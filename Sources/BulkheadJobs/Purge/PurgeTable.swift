internal import Bulkhead
internal import Postgres

/// The table that a purge takes rows from, as the catalog describes it.
struct PurgeTable {
    let oid: Int64
    /// The name, quoted for SQL.
    let name: String
    /// The table's own name, under which conditions speak of it, quoted for SQL.
    let alias: String
    let plainName: String
    /// The columns of the primary key, in its order.
    let key: [KeyColumn]
    /// The tables that hold rows: itself, its partitions, the tables that inherit from it.
    let leaves: [Int64]
    let facts: Facts

    struct KeyColumn: Equatable {
        /// Quoted for SQL.
        let name: String
        /// With its modifier, as SQL.
        let type: String
    }

    struct Facts {
        let isPartitioned: Bool
        /// Why rows must be deleted through the table itself, not from each partition; nil when they
        /// need not.
        let needsParent: String?
        let hasRowSecurity: Bool
        let isOwner: Bool
    }

    /// Looks the table up.
    ///
    /// - Throws: `JobFailure` when it is not there, or is of a sort that a purge cannot work on.
    init(_ connection: Connection, name: String) throws {
        let row = try connection.query(Self.query(name))
        guard !row.isEmpty else { throw JobFailure("there is no table \(name)", sqlstate: "42P01") }
        oid = try row.required(0, 0)
        self.name = try row.required(0, 1)
        alias = try row.required(0, 2)
        plainName = try row.required(0, 8)
        if let refusal: String = try row.value(0, 3) { throw JobFailure("\(self.name) \(refusal)") }
        facts = Facts(
            isPartitioned: try row.required(0, 4),
            needsParent: try row.value(0, 5),
            hasRowSecurity: try row.required(0, 6),
            isOwner: try row.required(0, 7)
        )
        let members = try connection.query(
            """
            select m.oid::bigint from unnest(\(unsafe: Self.members("\(oid)::oid"))) as m (oid)
            join pg_catalog.pg_class c on c.oid = m.oid where c.relkind = 'r' order by 1
            """
        )
        leaves = try (0..<members.count).map { try members.required($0, 0) }
        let columns = try connection.query(
            """
            select pg_catalog.quote_ident(a.attname), pg_catalog.format_type(a.atttypid, a.atttypmod)
            from pg_catalog.pg_index i
            cross join lateral unnest(i.indkey) with ordinality as k (attnum, n)
            join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
            where i.indrelid = \(oid)::oid and i.indisprimary and k.n <= i.indnkeyatts
            order by k.n
            """
        )
        key = try (0..<columns.count).map { row in
            KeyColumn(name: try columns.required(row, 0), type: try columns.required(row, 1))
        }
    }

    /// One archive table cannot hold what tables that inherit have of their own.
    ///
    /// - Throws: `JobFailure` that names the first of them.
    func requireSameColumns(_ connection: Connection) throws {
        let row = try connection.query(
            """
            select m.oid::regclass::text, a.attname
            from pg_catalog.unnest(\(unsafe: Self.members("\(oid)::oid"))) as m (oid)
            join pg_catalog.pg_attribute a on a.attrelid = m.oid and a.attnum > 0 and not a.attisdropped
            where not exists (
                select from pg_catalog.pg_attribute r
                where r.attrelid = \(oid)::oid and r.attname = a.attname and not r.attisdropped)
            limit 1
            """
        )
        guard !row.isEmpty else { return }
        throw JobFailure(
            "\(try row.required(0, 0, as: String.self)) inherits from \(name) and has a column of its own, "
                + "\(try row.required(0, 1, as: String.self)): archive into a file, or purge each table by itself"
        )
    }

    /// The oids of a table and of all that inherit from it, at any depth, as SQL; what is being detached does no
    /// more.
    static func members(_ oid: String) -> String {
        """
        array(with recursive tree as (
            select \(oid) as oid
            union
            select h.inhrelid from pg_catalog.pg_inherits h join tree on h.inhparent = tree.oid
            where not h.inhdetachpending)
         select tree.oid from tree)
        """
    }

    private static func query(_ name: String) -> SQL {
        """
        select c.oid::bigint, pg_catalog.format('%I.%I', n.nspname, c.relname), pg_catalog.quote_ident(c.relname),
            case
                when c.relkind not in ('r', 'p') then 'is not a table'
                when n.nspname in ('pg_catalog', 'information_schema', 'bulkhead')
                    then 'is a table of the system: nobody purges it by hand'
                when tree.temporary then 'is temporary: other sessions cannot see it'
                when tree.unlogged then 'is unlogged: a crash would empty it and keep the checkpoint'
                when tree.remote then 'has foreign partitions: they do not commit with the checkpoint'
                when tree.has_rule then 'has a rule for DELETE: what that does is not known'
                when not pg_catalog.has_table_privilege(c.oid, 'DELETE')
                    then 'is not this role''s to delete from: grant delete on it to ' || current_user
            end,
            c.relkind = 'p',
            case
                when c.relkind <> 'p' then null
                when pg_catalog.row_security_active(c.oid) then 'row security is active on it'
                when not tree.may_delete then 'the role may not delete from each partition'
                when tree.has_statement_trigger then 'it has triggers for each statement'
            end,
            pg_catalog.row_security_active(c.oid),
            pg_catalog.pg_has_role(c.relowner, 'USAGE'), c.relname
        from pg_catalog.pg_class c
        join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        cross join lateral (
            select bool_or(m.relpersistence = 't') as temporary, bool_or(m.relpersistence = 'u') as unlogged,
                bool_or(m.relkind = 'f') as remote,
                bool_and(pg_catalog.has_table_privilege(m.oid, 'DELETE, SELECT') and
                    pg_catalog.has_table_privilege(m.oid, 'DELETE')) as may_delete,
                bool_or(exists (
                    select from pg_catalog.pg_rewrite w where w.ev_class = m.oid and w.ev_type = '4')) as has_rule,
                bool_or(m.relkind = 'p' and exists (
                    select from pg_catalog.pg_trigger t
                    where t.tgrelid = m.oid and not t.tgisinternal and t.tgenabled <> 'D' and t.tgtype & 1 = 0
                        and t.tgtype & 8 > 0 and t.tgfoid <> 'bulkhead.record_change()'::regprocedure))
                    as has_statement_trigger
            from pg_catalog.pg_class m where m.oid = any (\(unsafe: members("c.oid")))) as tree
        where c.oid = pg_catalog.to_regclass(\(name))
        """
    }
}
