-- Tracking: triggers that record in the feed what anyone changes in a table.
--
-- They are statement-level triggers with transition tables, so that a statement costs one more statement,
-- however many rows it touches, and so that cascades and rows that other triggers write are seen as well.

alter table bulkhead.feed add column rung text;
comment on column bulkhead.feed.rung is 'How far daemons have rung for changes of tracked tables';

-- Whether values of a type are written by a cast to text that comes with the server, also behind domains.
create function bulkhead.is_built_in(type oid) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    base oid := type;
begin
    while base >= 16384 loop
        base := (select t.typbasetype from pg_type t where t.oid = base and t.typtype = 'd');
    end loop;
    return base is not null;
end $$;

-- How the feed names a table, and its key as an expression over a row t that yields JSON text; null without a
-- key. A partition's are those of the table that it belongs to.
--
-- Only casts of built-in types are used, which nobody else can replace: for others their output function
-- speaks, since a cast to text may be a function of the user's, and what runs here runs with more rights.
create function bulkhead.feed_key(relid oid, out relation text, out key text)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    root oid := coalesce(pg_partition_root(relid), relid);
    parts text[];
begin
    select format('%I.%I', n.nspname, c.relname) into relation
    from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = root;
    parts := array(
        select case
            when a.atttypid in ('int2'::regtype, 'int4'::regtype) then format('t.%I::text', a.attname)
            -- The usual case is told without a call: this runs for every statement on the table.
            when a.atttypid < 16384 or bulkhead.is_built_in(a.atttypid)
                then format('to_json(t.%I::text)::text', a.attname)
            else format('to_json(format(''%%s'', t.%I))::text', a.attname) end
        from pg_index i
        cross join lateral unnest(i.indkey) with ordinality as k (attnum, n)
        join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
        where i.indrelid = root and i.indisprimary and k.n <= i.indnkeyatts
        order by k.n);
    key := case cardinality(parts)
        when 0 then null
        when 1 then parts[1]
        else 'concat(''['', ' || array_to_string(parts, ', '','', ') || ', '']'')' end;
end $$;

-- What a reader needs to read rows of a table again by their ids: the table's own name beside what the feed calls
-- it, its key as an expression over a row t that yields JSON text, and the key's columns with their types.
create function bulkhead.feed_table(
    relid regclass, out name text, out relation text, out key text, out columns text[], out types text[],
    out is_tracked boolean
)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    select f.relation, f.key into relation, key from bulkhead.feed_key(relid) f;
    name := (select format('%I.%I', n.nspname, c.relname)
             from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = relid);
    select array_agg(a.attname order by k.n), array_agg(format_type(a.atttypid, -1) order by k.n)
    into columns, types
    from pg_index i
    cross join lateral unnest(i.indkey) with ordinality as k (attnum, n)
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
    where i.indrelid = coalesce(pg_partition_root(relid), relid) and i.indisprimary
      and k.n <= i.indnkeyatts;
    is_tracked := exists (
        select from pg_trigger t
        where t.tgrelid = relid and t.tgfoid = 'bulkhead.record_change()'::regprocedure);
end $$;

-- What the triggers do. It writes with the rights of its owner, so that whoever may change the table needs none
-- on the feed; so all that it runs is named from pg_catalog. Values are written in one form, whatever the
-- session's settings are. Rows are compared by their bytes: some types have no equality, and those that
-- have one may find 1.0 equal to 1.00.
create function bulkhead.record_change() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set "DateStyle" = 'ISO, YMD' set "IntervalStyle" = 'postgres' set "TimeZone" = 'UTC'
set bytea_output = 'hex' set extra_float_digits = 1
as $$
declare
    own_job bigint := nullif(current_setting('bulkhead.job', true), '')::bigint;
    target record := bulkhead.feed_key(tg_relid);
    is_touched boolean;
begin
    if tg_op = 'TRUNCATE' then
        -- Each partition says so.
        insert into bulkhead.change (relation, operation, job)
        select target.relation, 'reset', own_job
        where not exists (
            select from bulkhead.change c
            where c.xid = pg_current_xact_id_if_assigned() and c.relation = target.relation
              and c.operation = 'reset');
    elsif target.key is null then
        if tg_op = 'UPDATE' then
            select exists (
                select from
                    (select row(t.*) as image, row_number() over (order by row(t.*) using operator(*<)) as n
                     from old_rows t) o
                    join (select row(t.*) as image, row_number() over (order by row(t.*) using operator(*<)) as n
                          from new_rows t) n on n.n = o.n
                where o.image *<> n.image) into is_touched;
        elsif tg_op = 'INSERT' then
            select exists (select from new_rows) into is_touched;
        else
            select exists (select from old_rows) into is_touched;
        end if;
        insert into bulkhead.change (relation, operation, job)
        select target.relation, lower(tg_op), own_job where is_touched;
    else
        execute format(
            $sql$
            insert into bulkhead.change (relation, operation, ids, job)
            select $1, r.operation, ('[' || string_agg(r.id, ',') || ']')::jsonb, $2
            from (
                select c.id, c.operation, (row_number() over (partition by c.operation) - 1) / 10000 as part
                from (%s) as c) as r
            group by r.operation, r.part order by r.operation, r.part
            $sql$,
            case tg_op
                when 'INSERT' then format('select %s as id, ''insert'' as operation from new_rows t', target.key)
                when 'DELETE' then format('select %s as id, ''delete'' as operation from old_rows t', target.key)
                else format(
                    $sql$
                    select coalesce(o.id, n.id) as id,
                           case when o.id is null then 'insert' when n.id is null then 'delete'
                                else 'update' end as operation
                    from (select %1$s as id, row(t.*) as image from old_rows t) o
                    full join (select %1$s as id, row(t.*) as image from new_rows t) n on n.id = o.id
                    where o.id is null or n.id is null or o.image *<> n.image
                    $sql$, target.key) end)
        using target.relation, own_job;
    end if;
    return null;
end $$;

-- The tables of a tree of partitions that can have triggers, the table itself first.
create function bulkhead.members(relid oid) returns setof oid
language sql stable set search_path = pg_catalog, pg_temp as $$
    select $1
    union all
    select p.relid from pg_partition_tree($1) p join pg_class c on c.oid = p.relid
    where p.relid <> $1 and c.relkind in ('r', 'p')
$$;

create function bulkhead.is_tracked(table_name regclass) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
    select current_setting('session_replication_role') <> 'replica' and count(*) = 4
    from pg_trigger t
    where t.tgrelid = table_name and t.tgfoid = 'bulkhead.record_change()'::regprocedure
      and t.tgenabled in ('O', 'A')
$$;
comment on function bulkhead.is_tracked is
    'Whether triggers record what this session changes through this table, so that nobody else need do it';

create function bulkhead.add_triggers(relid oid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    event record;
begin
    for event in
        select * from (values
            ('insert', 'referencing new table as new_rows'),
            ('update', 'referencing old table as old_rows new table as new_rows'),
            ('delete', 'referencing old table as old_rows'),
            ('truncate', '')) as e (name, tables)
        where not exists (
            select from pg_trigger t
            where t.tgrelid = relid and t.tgname = 'bulkhead_' || e.name)
    loop
        execute format(
            'create trigger %I after %s on %s %s for each statement execute function bulkhead.record_change()',
            'bulkhead_' || event.name, event.name, relid::regclass, event.tables);
    end loop;
end $$;

create function bulkhead.track(table_name regclass) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    found_table record;
    member oid;
begin
    select c.relkind, c.relpersistence, c.relnamespace, c.relispartition into found_table
    from pg_class c where c.oid = table_name;
    if found_table.relkind is null then
        raise exception 'there is no table to track: table_name is %', coalesce(table_name::text, 'null')
            using errcode = '42P01';
    elsif found_table.relkind not in ('r', 'p')
        or found_table.relnamespace in ('bulkhead'::regnamespace, 'pg_catalog'::regnamespace)
    then
        raise exception '% is not a table that can be tracked', table_name using errcode = '42809';
    elsif found_table.relpersistence <> 'p' then
        raise exception '% is %, so it can become empty without anybody being told',
            table_name, case found_table.relpersistence when 't' then 'temporary' else 'unlogged' end
            using errcode = '42809';
    elsif found_table.relispartition then
        raise exception '% is a partition: track %, the table that it belongs to', table_name,
            pg_partition_root(table_name) using errcode = '42809';
    end if;
    for member in select m from bulkhead.members(table_name) m loop
        perform bulkhead.add_triggers(member);
    end loop;
    return (bulkhead.feed_key(table_name)).relation;
end $$;
comment on function bulkhead.track is
    'Records in the feed what anyone changes in a table, its partitions and those made later; returns the '
    'name under which the feed knows it';

create function bulkhead.untrack(table_name regclass) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    trigger record;
begin
    if (select c.relispartition from pg_class c where c.oid = table_name)
        and exists (
            select from pg_trigger t
            where t.tgrelid = pg_partition_root(table_name)
              and t.tgfoid = 'bulkhead.record_change()'::regprocedure)
    then
        raise exception '% is a partition: untrack %, the table that it belongs to', table_name,
            pg_partition_root(table_name) using errcode = '42809';
    end if;
    for trigger in
        select t.tgname, t.tgrelid::regclass as relation from pg_trigger t
        where t.tgrelid in (select m from bulkhead.members(table_name) m)
          and t.tgfoid = 'bulkhead.record_change()'::regprocedure
    loop
        execute format('drop trigger %I on %s', trigger.tgname, trigger.relation);
    end loop;
    return (bulkhead.feed_key(table_name)).relation;
end $$;
comment on function bulkhead.untrack is 'Ends the tracking of a table and its partitions';

-- Adds the triggers to partitions that were made since their table was tracked. What was written straight into
-- one before is not known, so readers are told to read again unless it is empty. A daemon's role owns
-- no tables, so this runs with the rights of the schema's owner; it does only what track was asked to do. Returns
-- what could not be done, and why.
create function bulkhead.track_partitions() returns table (partition text, problem text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    found_member record;
begin
    for found_member in
        select m.oid as oid, m.oid::regclass::text as name, root.oid as root
        from pg_class root
        cross join lateral bulkhead.members(root.oid) as m (oid)
        where root.relkind = 'p' and not root.relispartition
          and exists (
              select from pg_trigger t
              where t.tgrelid = root.oid and t.tgfoid = 'bulkhead.record_change()'::regprocedure)
          and not exists (
              select from pg_trigger t
              where t.tgrelid = m.oid and t.tgfoid = 'bulkhead.record_change()'::regprocedure)
    loop
        begin
            perform bulkhead.add_triggers(found_member.oid);
            if pg_relation_size(found_member.oid) > 0 then
                perform bulkhead.publish(
                    (bulkhead.feed_key(found_member.root)).relation, 'reset', null, null);
            end if;
        exception when others then
            partition := found_member.name;
            problem := sqlerrm;
            return next;
        end;
    end loop;
end $$;

-- Rings for changes that no job's batch has rung for. One daemon at a time does it, from where the last one
-- stopped. Returns how many changes it went through; 0 when there is nothing left.
create function bulkhead.ring_tracked() returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    rung text;
    changes bulkhead.seen_change[];
    change record;
begin
    if not pg_try_advisory_xact_lock(1112884295, 0) then
        return 0;
    end if;
    -- Only now what the last one has written is seen.
    rung := coalesce((select f.rung from bulkhead.feed f), bulkhead.oldest_token());
    begin
        changes := array(select c from bulkhead.changes_since(rung) c);
    exception when sqlstate 'BH001' then
        update bulkhead.feed f set rung = bulkhead.current_token();
        return 0;
    end;
    for change in
        select c.relation, c.operation,
               case when bool_and(c.ids is not null) and sum(pg_column_size(c.ids)) <= 8 * 3500
                    then jsonb_agg(c.ids order by c.id) end as lists
        from unnest(changes) c
        where c.job is null
        group by c.relation, c.operation order by min(c.id)
    loop
        perform bulkhead.ring_change(change.relation, change.operation, null, change.lists);
    end loop;
    if cardinality(changes) > 0 then
        update bulkhead.feed f set rung = changes[cardinality(changes)].token;
    end if;
    return cardinality(changes);
end $$;
