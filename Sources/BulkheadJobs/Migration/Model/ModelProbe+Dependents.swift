internal import Postgres

extension ModelProbe {
    /// What another column in this one's place would lose or break, in words; its own default and sequence aside.
    func dependents(of column: String, in table: String) throws -> [String] {
        let rows = try connection.query(
            """
            with it as (
                select a.*, t.typstorage from pg_catalog.pg_attribute a
                join pg_catalog.pg_class c on c.oid = a.attrelid
                join pg_catalog.pg_namespace n on n.oid = c.relnamespace
                join pg_catalog.pg_type t on t.oid = a.atttypid
                where n.nspname = \(schema) and c.relname = \(table) and a.attname = \(column))
            select pg_catalog.pg_describe_object(
                coalesce(case when r.rulename = '_RETURN' then 'pg_catalog.pg_class'::regclass end, d.classid),
                coalesce(case when r.rulename = '_RETURN' then r.ev_class end, d.objid),
                case when r.rulename = '_RETURN' then 0 else d.objsubid end)
            from it join pg_catalog.pg_depend d on d.refclassid = 'pg_catalog.pg_class'::regclass
                and d.refobjid = it.attrelid and d.refobjsubid = it.attnum
            left join pg_catalog.pg_rewrite r on d.classid = 'pg_catalog.pg_rewrite'::regclass and r.oid = d.objid
            left join pg_catalog.pg_attrdef f on d.classid = 'pg_catalog.pg_attrdef'::regclass and f.oid = d.objid
            left join pg_catalog.pg_class s on d.classid = 'pg_catalog.pg_class'::regclass and s.oid = d.objid
                and s.relkind = 'S'
            where s.oid is null and (f.adrelid, f.adnum) is distinct from (it.attrelid, it.attnum)
            union select 'a grant' from it where attacl is not null
            union select 'its statistics target' from it where attstattarget >= 0
            union select 'its storage' from it where attstorage <> typstorage or attcompression <> ''
            union select 'a comment' from it where pg_catalog.col_description(attrelid, attnum) is not null
            union select 'a security label' from it join pg_catalog.pg_seclabel l on l.objoid = attrelid
                and l.classoid = 'pg_catalog.pg_class'::regclass and l.objsubid = attnum
            order by 1
            """
        )
        return try (0..<rows.count).map { try rows.required($0, 0) }
    }
}
