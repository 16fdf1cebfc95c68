-- Migration as a caller sees it, the record of what was applied, and what keeps steps and batches apart. The
-- daemon runs the steps; it opens no file.

create table bulkhead.migration (
    version       numeric[] not null,
    is_down       boolean not null default false,
    step          int not null,
    steps         int not null,
    file          text not null,
    checksum      text not null,
    step_checksum text,
    kind          text not null check (kind in ('transaction', 'concurrently', 'backfill', 'baseline')),
    line          int,
    state         text not null check (state in ('running', 'failed', 'applied')),
    started_at    timestamptz not null default clock_timestamp(),
    ended_at      timestamptz,
    duration      interval generated always as (ended_at - started_at) stored,
    job           bigint,
    rows          bigint not null default 0,
    position      jsonb,
    error         text,
    primary key (version, is_down, step)
);
comment on table bulkhead.migration is
    'Each step of each migration file that was applied here, or is being; it stays when its job is gone';
comment on column bulkhead.migration.version is 'The number in the file''s name: {7}, or {1,2} for 1.2';
comment on column bulkhead.migration.is_down is 'Whether it takes the file back; the last such step removes the record';
comment on column bulkhead.migration.steps is 'How many the file has: it is applied when all of them are';
comment on column bulkhead.migration.checksum is 'SHA-256 of the file''s text with line ends as LF';
comment on column bulkhead.migration.rows is 'Rows that a backfill has changed';
comment on column bulkhead.migration.position is 'How far a backfill or a step of several statements is';

create function bulkhead.text_checksum(text text) returns text
language sql immutable strict set search_path = pg_catalog, pg_temp as $$
    select encode(sha256(convert_to(replace($1, E'\r\n', E'\n'), 'UTF8')), 'hex')
$$;

-- The number in a file's name: 0007_x.sql, V1.2__x.sql or 20261101120000_x.sql; null where there is none.
create function bulkhead.migration_version(name text) returns numeric[]
language sql immutable strict set search_path = pg_catalog, pg_temp as $$
    select array_remove(array_agg(p.part order by p.n) filter (where p.n <= p.last), null)
    from (
        select u.part::numeric, u.n,
               coalesce(max(u.n) filter (where u.part::numeric <> 0) over (), 1) as last
        from unnest(string_to_array(translate(coalesce(
            substring($1 from '^V([0-9]+(?:[._][0-9]+)*)__'), substring($1 from '^([0-9]+)[-_.]')), '_', '.'), '.'))
            with ordinality as u (part, n)) as p
$$;

create function bulkhead.version_text(version numeric[]) returns text
language sql immutable strict set search_path = pg_catalog, pg_temp as $$ select array_to_string($1, '.') $$;

create view bulkhead.migration_status as
select
    bulkhead.version_text(m.version) as version, (array_agg(m.file order by m.step desc))[1] as file,
    case when bool_or(m.state = 'failed') then 'failed'
         when bool_or(m.is_down) then 'partly taken back'
         when count(*) filter (where m.state = 'applied') = max(m.steps) then 'applied'
         else 'partly applied' end as state,
    count(*) filter (where m.state = 'applied' and not m.is_down) as steps_applied,
    max(m.steps) filter (where not m.is_down) as steps,
    min(m.started_at) as started_at, max(m.ended_at) as ended_at, sum(m.duration) as duration, sum(m.rows) as rows,
    max(m.job) as job, max(m.error) as error
from bulkhead.migration m
group by m.version
order by m.version;
comment on view bulkhead.migration_status is 'The migration files that were applied here, in their order';

-- Why files cannot be applied to what was applied already, with the way out; null where they can.
create function bulkhead.migration_refusal(files jsonb, complete boolean, out_of_order boolean, is_down boolean)
returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
    with file as (
        select f ->> 'name' as name, f ->> 'checksum' as checksum,
               array(select jsonb_array_elements_text(f -> 'version'))::numeric[] as version
        from jsonb_array_elements($1) as f
    ), applied as (
        select m.version, max(m.file) as file, max(m.checksum) as checksum, max(m.ended_at) as at,
               count(*) filter (where m.state = 'applied') = max(m.steps) as whole
        from bulkhead.migration m where not m.is_down group by m.version
    ), newest as (
        select a.version, a.file from applied a where a.whole order by a.version desc limit 1
    )
    select reason from (
        select 1 as n, a.version, format(
            '%s was applied at %s and has been changed since: put it back as it was and write what is new into a '
            'file of its own, or accept it as it is with --repair', f.name, date_trunc('second', a.at)) as reason
        from file f join applied a using (version) where a.whole and a.checksum <> f.checksum
        union all
        select 2, a.version, format(
            '%s was applied and is missing among the files: put it back, or forget that it was applied with --repair',
            a.file)
        from applied a where $2 and not exists (select from file f where f.version = a.version)
        union all
        select 3, f.version, format(
            '%s is older than %s, which was applied already: give it a higher number, or run it all the same with '
            '--repair', f.name, n.file)
        from file f join newest n on f.version < n.version
        where not coalesce($3 or $4, false) and not exists (select from applied a where a.version = f.version)
        union all
        select 4, m.version, format('%s is half taken back: go on with --down', m.file)
        from bulkhead.migration m where m.is_down and not coalesce($4, false)
    ) as refusals
    order by n, version limit 1
$$;

-- Makes the record fit the files: changed ones count as they are, those that are missing as never applied.
create function bulkhead.repair_migration(files jsonb, complete boolean) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    update bulkhead.migration m set checksum = f ->> 'checksum', file = f ->> 'name', step_checksum = null
    from jsonb_array_elements(files) as f
    where m.version = array(select jsonb_array_elements_text(f -> 'version'))::numeric[] and not m.is_down
      and m.checksum <> f ->> 'checksum';
    delete from bulkhead.migration m
    where complete and not exists (
        select from jsonb_array_elements(files) as f
        where m.version = array(select jsonb_array_elements_text(f -> 'version'))::numeric[]);
end $$;

-- Records files up to a number as applied, though they were not run here.
create function bulkhead.baseline_migration(files jsonb, baseline numeric[]) returns void
language sql set search_path = pg_catalog, pg_temp as $$
    insert into bulkhead.migration (version, step, steps, file, checksum, kind, state, ended_at)
    select v.version, 1, 1, f ->> 'name', f ->> 'checksum', 'baseline', 'applied', clock_timestamp()
    from jsonb_array_elements($1) as f
    cross join lateral (
        select array(select jsonb_array_elements_text(f -> 'version'))::numeric[] as version) as v
    where v.version <= $2
    on conflict do nothing
$$;

-- The number that an option names, which a file must have.
create function bulkhead.named_version(option text, value text, files jsonb) returns numeric[]
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    version numeric[] := bulkhead.migration_version('V' || value || '__');
begin
    if value is not null and version is null then
        raise exception '% takes the number of a file, not %', option, value using errcode = '22023';
    end if;
    if version <> '{0}' and not exists (
        select from jsonb_array_elements(files) as f
        where array(select jsonb_array_elements_text(f -> 'version'))::numeric[] = version)
    then
        raise exception 'no file has the number % that % names', value, option using errcode = '22023';
    end if;
    return version;
end $$;

-- The files with their numbers and checksums, in order.
create function bulkhead.migration_files(files jsonb) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    wrong text;
    numbered jsonb;
begin
    if jsonb_typeof(files) is distinct from 'array' or jsonb_array_length(files) = 0 then
        raise exception 'files must be a JSON array of objects with name and text' using errcode = '22023';
    end if;
    select case
            when jsonb_typeof(f) <> 'object' or jsonb_typeof(f -> 'name') is distinct from 'string'
                or jsonb_typeof(f -> 'text') is distinct from 'string'
                then 'files must be a JSON array of objects with name and text'
            when bulkhead.migration_version(f ->> 'name') is null
                then format('%s has no number: name it like 0007_add_column.sql or V7__add_column.sql', f ->> 'name')
        end into wrong
    from jsonb_array_elements(files) as f order by 1 nulls last limit 1;
    if wrong is null then
        select format('%s have the same number: rename one of them', string_agg(f ->> 'name', ' and ')) into wrong
        from jsonb_array_elements(files) as f group by bulkhead.migration_version(f ->> 'name')
        having count(*) > 1 limit 1;
    end if;
    if wrong is not null then
        raise exception '%', wrong using errcode = '22023';
    end if;
    select jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
        'name', f ->> 'name', 'text', f ->> 'text', 'down', f ->> 'down',
        'checksum', bulkhead.text_checksum(f ->> 'text'),
        'version', to_jsonb(bulkhead.migration_version(f ->> 'name'))))
        order by bulkhead.migration_version(f ->> 'name'))
    into numbered
    from jsonb_array_elements(files) as f;
    return numbered;
end $$;

-- The caller's search_path is the one that the files are run with: so this one function pins none.
create function bulkhead.migrate(
    files jsonb,
    complete boolean default true,
    to_version text default null,
    down text default null,
    baseline text default null,
    repair boolean default null,
    max_block int default 500,
    lock_timeout_total interval default '15 minutes',
    queue text default 'default',
    priority int default 0,
    run_at timestamptz default null,
    run_in interval default null,
    max_attempts int default 20,
    unique_key text default null,
    tags text[] default null,
    host text default null,
    notify boolean default true,
    limits jsonb default null
) returns bigint
language plpgsql as $$
#variable_conflict use_variable
declare
    numbered jsonb := bulkhead.migration_files(files);
    wrong text := case
        when pg_catalog.num_nonnulls(to_version, down, baseline) > 1 and down is not null
            then 'down goes with neither to_version nor baseline'
        when max_block not between 10 and 60000 then 'max_block must be between 10 and 60000 milliseconds'
        when lock_timeout_total < '0' or lock_timeout_total > '30 days'
            then 'lock_timeout_total must be between 0 and 30 days'
    end;
begin
    if wrong is null and repair then
        perform bulkhead.repair_migration(numbered, complete);
    end if;
    if wrong is null and baseline is not null then
        perform bulkhead.baseline_migration(numbered, bulkhead.named_version('baseline', baseline, numbered));
    end if;
    wrong := coalesce(wrong, bulkhead.migration_refusal(numbered, complete, repair, down is not null));
    if wrong is not null then
        raise exception '%', wrong using errcode = '22023';
    end if;
    return bulkhead.enqueue(
        'migration',
        pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
            'files', numbered, 'complete', complete, 'out_of_order', repair,
            'to', bulkhead.named_version('to_version', to_version, numbered),
            'down', bulkhead.named_version('down', down, numbered),
            'max_block', max_block,
            'lock_timeout_total', extract(epoch from lock_timeout_total),
            'search_path', pg_catalog.current_setting('search_path'))),
        queue, priority, run_at, run_in, max_attempts, unique_key, tags, host, notify, limits);
end $$;
comment on function bulkhead.migrate is
    'Enqueues the application of migration files, given as a JSON array of objects with name, text and perhaps '
    'down, and returns the job''s id';

-- Begins a step, or takes it up where it stopped; returns its position.
create function bulkhead.begin_step(
    version numeric[], is_down boolean, step int, steps int, file text, checksum text, step_text text, kind text,
    line int, job bigint
) returns jsonb
language sql set search_path = pg_catalog, pg_temp as $$
    insert into bulkhead.migration as m
        (version, is_down, step, steps, file, checksum, step_checksum, kind, line, state, job)
    values ($1, $2, $3, $4, $5, $6, bulkhead.text_checksum($7), $8, $9, 'running', $10)
    on conflict (version, is_down, step) do update
    set steps = $4, file = $5, checksum = $6, step_checksum = bulkhead.text_checksum($7), kind = $8, line = $9,
        state = 'running', job = $10, error = null, ended_at = null,
        position = case when m.kind = $8 then m.position end
    returning m.position
$$;

create function bulkhead.note_step(version numeric[], is_down boolean, step int, rows bigint, "position" jsonb)
returns void
language sql set search_path = pg_catalog, pg_temp as $$
    update bulkhead.migration m set rows = m.rows + $4, position = $5
    where m.version = $1 and m.is_down = $2 and m.step = $3
$$;

-- Ends a step: it is applied, and the last one that takes a file back leaves no record of it.
create function bulkhead.end_step(version numeric[], is_down boolean, step int) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    update bulkhead.migration m set state = 'applied', ended_at = clock_timestamp(), position = null
    where m.version = end_step.version and m.is_down = end_step.is_down and m.step = end_step.step;
    update bulkhead.migration m set checksum = s.checksum, file = s.file, steps = s.steps
    from bulkhead.migration s
    where s.version = end_step.version and s.is_down = end_step.is_down and s.step = end_step.step
      and m.version = s.version and m.is_down = s.is_down;
    delete from bulkhead.migration m
    where end_step.is_down and m.version = end_step.version and exists (
        select from bulkhead.migration s
        where s.version = m.version and s.is_down and s.step = end_step.step and s.step = s.steps);
end $$;

create function bulkhead.fail_step(version numeric[], is_down boolean, step int, error text) returns void
language sql set search_path = pg_catalog, pg_temp as $$
    update bulkhead.migration m set state = 'failed', ended_at = clock_timestamp(), error = $4
    where m.version = $1 and m.is_down = $2 and m.step = $3
$$;

-- Lanes: what a migration's step changes, no batch of another job does at the same time. All of it lies in
-- advisory locks, which end with the session that holds them. Two locks for each table: whoever is at a step on
-- it, or wants to be, holds the first; batches look whether it is free and then share the second to their end.

create function bulkhead.migration_class() returns int
language sql immutable parallel safe set search_path = pg_catalog, pg_temp as $$ select 1112884293 $$;

create function bulkhead.wanted_class() returns int
language sql immutable parallel safe set search_path = pg_catalog, pg_temp as $$ select 1112884294 $$;

create function bulkhead.lane_class() returns int
language sql immutable parallel safe set search_path = pg_catalog, pg_temp as $$ select 1112884295 $$;

-- A partition's lane is that of the table that it belongs to.
create function bulkhead.lane_key(relation oid) returns int
language sql stable set search_path = pg_catalog, pg_temp as $$
    select (coalesce(pg_partition_root($1), $1)::oid::bigint & 4294967295)::bit(32)::int
$$;

-- Who else holds one of these locks, in words.
create function bulkhead.lane_holder(class int, key int) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
    select coalesce(nullif(a.application_name, ''), 'another session') || ' pid ' || l.pid
    from pg_locks l left join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'advisory' and l.granted and l.objsubid = 2 and l.pid <> pg_backend_pid()
      and l.database = (select d.oid from pg_database d where d.datname = current_database())
      and l.classid = $1::bit(32)::bigint::oid and l.objid = $2::bit(32)::bigint::oid
    limit 1
$$;

create function bulkhead.holds_advisory(class int, key int) returns boolean
language sql volatile set search_path = pg_catalog, pg_temp as $$
    select exists (
        select from pg_locks l
        where l.locktype = 'advisory' and l.granted and l.objsubid = 2 and l.pid = pg_backend_pid()
          and l.mode = 'ExclusiveLock'
          and l.database = (select d.oid from pg_database d where d.datname = current_database())
          and l.classid = $1::bit(32)::bigint::oid and l.objid = $2::bit(32)::bigint::oid)
$$;

create function bulkhead.hold_advisory(class int, key int) returns boolean
language sql volatile set search_path = pg_catalog, pg_temp as $$
    select bulkhead.holds_advisory($1, $2) or pg_try_advisory_lock($1, $2)
$$;

-- Makes this session the one that migrates the database, at a step on these tables, and on no others. It waits for
-- nothing: it says what to wait for, or null when all is held. Held is what lives as long as the session.
create function bulkhead.hold_migration(relations oid[]) returns text
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    relation oid;
    key int;
    keys int[] := array(
        select distinct bulkhead.lane_key(c.oid) from pg_class c
        where c.oid = any (relations) and c.relkind in ('r', 'p', 'm', 'f'));
begin
    if not bulkhead.hold_advisory(bulkhead.migration_class(), 0) then
        return concat('another migration (', bulkhead.lane_holder(bulkhead.migration_class(), 0), ')');
    end if;
    perform pg_advisory_unlock(l.classid::int, (l.objid::bigint)::bit(32)::int)
    from pg_locks l
    where l.locktype = 'advisory' and l.granted and l.objsubid = 2 and l.pid = pg_backend_pid()
      and l.mode = 'ExclusiveLock'
      and l.database = (select d.oid from pg_database d where d.datname = current_database())
      and l.classid in (bulkhead.wanted_class()::oid, bulkhead.lane_class()::oid)
      and (l.objid::bigint)::bit(32)::int <> all (keys);
    foreach key in array keys loop
        if not (bulkhead.hold_advisory(bulkhead.wanted_class(), key)
                and bulkhead.hold_advisory(bulkhead.lane_class(), key)) then
            select c.oid into relation from pg_class c where c.oid = any (relations) and bulkhead.lane_key(c.oid) = key;
            return concat('a batch on ', relation::regclass, ' (', bulkhead.lane_holder(bulkhead.lane_class(), key), ')');
        end if;
    end loop;
    return null;
end $$;

-- Lets a batch on these tables go on, and keeps steps off them until it ends; or says what it must wait for.
create function bulkhead.enter_lanes(relations oid[]) returns text
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    relation oid;
    key int;
begin
    foreach relation in array relations loop
        key := bulkhead.lane_key(relation);
        if pg_try_advisory_lock_shared(bulkhead.wanted_class(), key) then
            perform pg_advisory_unlock_shared(bulkhead.wanted_class(), key);
            continue when pg_try_advisory_xact_lock_shared(bulkhead.lane_class(), key);
        end if;
        return concat('a migration step on ', relation::regclass, ' (',
            coalesce(bulkhead.lane_holder(bulkhead.wanted_class(), key), 'it has just ended'), ')');
    end loop;
    return null;
end $$;

-- Makes this session one that works on a job outside transactions: whoever takes the job over ends it first. False
-- when the job is no longer the caller's. A server process that an earlier connection of the same attempt left
-- behind is ended here.
create function bulkhead.enter_job(job bigint, attempt int, daemon uuid) returns boolean
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
    if not pg_try_advisory_lock(bulkhead.lock_class(), bulkhead.lock_key(enter_job.job)) then
        perform pg_terminate_backend(p, 5000) from bulkhead.batch_processes(enter_job.job) p
        where bulkhead.is_own(enter_job.job, enter_job.attempt, enter_job.daemon);
        if not pg_try_advisory_lock(bulkhead.lock_class(), bulkhead.lock_key(enter_job.job)) then
            raise exception 'an earlier server process is still at work on job %', enter_job.job
                using errcode = '55006';
        end if;
    end if;
    -- Looked at with the lock: from here on nobody takes the job without ending this session.
    if bulkhead.is_own(enter_job.job, enter_job.attempt, enter_job.daemon)
        and bulkhead.holds_lease(enter_job.daemon)
    then
        return true;
    end if;
    perform bulkhead.leave_job(enter_job.job);
    if bulkhead.is_own(enter_job.job, enter_job.attempt, enter_job.daemon) then
        raise exception 'daemon % has no lease', enter_job.daemon using errcode = 'BH002';
    end if;
    return false;
end $$;

create function bulkhead.is_own(job bigint, attempt int, daemon uuid) returns boolean
language sql volatile set search_path = pg_catalog, pg_temp as $$
    select exists (
        select from bulkhead.job j
        where j.id = $1 and j.attempt = $2 and j.daemon = $3 and j.state = 'running')
$$;

create function bulkhead.leave_job(job bigint) returns void
language sql volatile set search_path = pg_catalog, pg_temp as $$
    select pg_advisory_unlock(bulkhead.lock_class(), bulkhead.lock_key($1))
$$;

-- Who keeps a lock on a relation from being given, by pid, user, query and age: the oldest three.
create function bulkhead.lock_holders(relation oid, mode text) returns text
language sql stable set search_path = pg_catalog, pg_temp set jit = off as $$
    with conflict as (
        select unnest(case upper($2)
            when 'ROW EXCLUSIVE' then array['Share', 'ShareRowExclusive', 'Exclusive', 'AccessExclusive']
            when 'SHARE UPDATE EXCLUSIVE' then
                array['ShareUpdateExclusive', 'Share', 'ShareRowExclusive', 'Exclusive', 'AccessExclusive']
            when 'SHARE' then
                array['RowExclusive', 'ShareUpdateExclusive', 'ShareRowExclusive', 'Exclusive', 'AccessExclusive']
            when 'SHARE ROW EXCLUSIVE' then array['RowExclusive', 'ShareUpdateExclusive', 'Share',
                'ShareRowExclusive', 'Exclusive', 'AccessExclusive']
            else array['AccessShare', 'RowShare', 'RowExclusive', 'ShareUpdateExclusive', 'Share',
                'ShareRowExclusive', 'Exclusive', 'AccessExclusive'] end) || 'Lock' as mode
    ), tree as (
        select $1 as oid union all select h.inhrelid from pg_inherits h where h.inhparent = $1
    ), holder as (
        select l.pid, min(coalesce(a.xact_start, p.prepared)) as since, min(a.usename) as usename,
               min(a.state) as state, min(a.query) as query, min(p.gid) as gid
        from pg_locks l
        left join pg_stat_activity a on a.pid = l.pid
        left join pg_prepared_xacts p on l.pid is null and '-1/' || p.transaction::text = l.virtualtransaction
        where l.locktype = 'relation' and l.granted and l.pid is distinct from pg_backend_pid()
          and l.database = (select d.oid from pg_database d where d.datname = current_database())
          and l.relation in (select t.oid from tree t) and l.mode in (select c.mode from conflict c)
        group by l.pid
        order by 2 limit 3
    )
    select string_agg(case when h.pid is null then format('the prepared transaction %s', h.gid) else
        format('pid %s (user %s, %s, open for %s s): %s', h.pid, coalesce(h.usename, '?'),
            coalesce(h.state, '?'), coalesce(round(extract(epoch from clock_timestamp() - h.since))::text, '?'),
            left(regexp_replace(h.query, '\s+', ' ', 'g'), 120)) end, '; ')
    from holder h
$$;
