-- Manners: how people change what jobs heed so that they harm nobody, and what a daemon's governor measures.

-- The job's row is not touched: that of a running one must stay free for the next batch.
create function bulkhead.limit_job(id bigint, limits jsonb) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    present text := bulkhead.present_state(limit_job.id);
begin
    if present in ('completed', 'cancelled', 'discarded') then
        raise exception 'job % is already %', limit_job.id, present using errcode = '55000';
    end if;
    insert into bulkhead.job_limit (job, limits)
    values (limit_job.id, coalesce(bulkhead.check_limits(limit_job.limits), '{}'));
    perform pg_notify('bulkhead_control', 'limits');
    return limit_job.id;
end $$;
comment on function bulkhead.limit_job is
    'Changes what a job heeds, a running one too: limits that are not named stay, null takes one away';

create function bulkhead.limit_queue_jobs(queue text, limits jsonb) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    checked jsonb := coalesce(bulkhead.check_limits(limit_queue_jobs.limits), '{}');
begin
    insert into bulkhead.queue as q (name, limits)
    values (bulkhead.check_queue(limit_queue_jobs.queue), nullif(jsonb_strip_nulls(checked), '{}'))
    on conflict (name) do update
        set limits = nullif(jsonb_strip_nulls(coalesce(q.limits, '{}') || checked), '{}'),
            "by" = current_user, at = now();
    perform pg_notify('bulkhead_control', 'limits');
    return limit_queue_jobs.queue;
end $$;
comment on function bulkhead.limit_queue_jobs is
    'Changes what the jobs of a queue heed where they do not say themselves: limits that are not named stay, '
    'null takes one away';

-- What the daemon cannot keep is told to people.
create function bulkhead.note_unheeded(daemon uuid, unheeded jsonb) returns void
language sql set search_path = pg_catalog, pg_temp as $$
    update bulkhead.daemon d set unheeded = $2 where d.id = $1 and d.unheeded <> $2
$$;

-- Measuring. A null says that the role may not see what it would take to tell. Without JIT where a planner expects
-- much: compiling takes longer than all the rest.

create function bulkhead.wal_position() returns bigint
language sql stable set search_path = pg_catalog, pg_temp as
$$ select (pg_current_wal_lsn() - '0/0')::bigint $$;

-- How far each standby, and each subscriber, has come. The server's own lag is null where it does not know it,
-- stays at its last value for some seconds once all is replayed, and is not current when the replica has said
-- nothing for longer than it should. What only receives, as a backup does, has no place.
create function bulkhead.replicas()
returns table (place bigint, lag double precision, is_current boolean, is_readable boolean)
language sql stable set search_path = pg_catalog, pg_temp as $$
    select (r.replay_lsn - '0/0')::bigint, extract(epoch from r.replay_lag)::double precision,
           coalesce(r.replay_lag is not null and r.reply_time > clock_timestamp() - interval '15 s', false),
           r.state is not null
    from pg_stat_replication r
    where r.state is null or (r.state in ('streaming', 'catchup') and r.replay_lsn is not null)
$$;

-- How many sessions wait for a lock behind the server process that runs a job's batch, or behind one that
-- waits behind it. Asking who blocks a session stops all lock traffic for a moment: no more than 100 are asked.
create function bulkhead.lock_waiters(job bigint) returns bigint
language sql stable set search_path = pg_catalog, pg_temp set jit = off as $$
    with recursive waiter as materialized (
        select w.pid, pg_blocking_pids(w.pid) as blockers
        from (select distinct l.pid from pg_locks l where not l.granted limit 100) as w
    ), behind as (
        select h.pid from bulkhead.batch_processes($1) as h (pid)
        union
        select w.pid from behind b join waiter w on b.pid = any (w.blockers)
    )
    select count(*) from behind b where b.pid not in (select h.pid from bulkhead.batch_processes($1) as h (pid))
$$;

-- What the batches of some jobs wait for, in words: the first lock that one was not given, and who holds it. A wait
-- for a row is one for the transaction that changed it; the row's table is that of the lock taken meanwhile.
create function bulkhead.blocked_batches(jobs bigint[]) returns table (job bigint, reason text)
language sql stable set search_path = pg_catalog, pg_temp set jit = off as $$
    with lock as materialized (
        select l.* from pg_locks l
    ), blocked as materialized (
        select j.id, w.pid, (pg_blocking_pids(w.pid))[1] as blocker,
               coalesce(w.relation, (select t.relation from lock t
                                     where t.pid = w.pid and t.locktype = 'tuple' limit 1)) as relation
        from unnest($1) as j (id)
        join lock h on h.locktype = 'advisory' and h.granted and h.objsubid = 2
            and h.database = (select d.oid from pg_database d where d.datname = current_database())
            and h.classid = bulkhead.lock_class()::oid and h.objid = bulkhead.lock_key(j.id)::oid
        join lock w on w.pid = h.pid and not w.granted
    )
    select b.id, concat(
        'a lock on ', coalesce(b.relation::regclass::text, 'a row'), ' held by ',
        case b.blocker when 0 then 'a prepared transaction' else 'pid ' || b.blocker end,
        ' (' || nullif(concat_ws(', ', a.usename, nullif(a.application_name, ''),
            'since ' || round(extract(epoch from clock_timestamp() - a.xact_start)) || ' s'), '') || ')')
    from blocked b left join pg_stat_activity a on a.pid = b.blocker
    where b.blocker is not null
$$;

-- What holds back vacuum in this database, with its age where that is known: of a slot and of a standby's
-- feedback it is not, and place tells when they have moved on. A vacuum holds back no other.
create function bulkhead.snapshot_holders()
returns table (pid int, holder text, place text, age double precision, is_readable boolean)
language sql stable set search_path = pg_catalog, pg_temp as $$
    select a.pid, 'pid ' || a.pid, a.pid || '/' || coalesce(a.backend_xmin, a.backend_xid),
           extract(epoch from clock_timestamp() - a.xact_start)::double precision,
           coalesce(a.xact_start is not null or a.backend_type = 'walsender', false)
    from pg_stat_activity a
    where (a.datname = current_database() or (a.datname is null and a.usesysid is not null))
      and (a.backend_xmin is not null or a.backend_xid is not null) and a.pid <> pg_backend_pid()
      and a.pid not in (select v.pid from pg_stat_progress_vacuum v)
    union all
    select null, 'prepared transaction ' || p.gid, p.gid,
           extract(epoch from clock_timestamp() - p.prepared)::double precision, true
    from pg_prepared_xacts p where p.database = current_database()
    union all
    select null, 'replication slot ' || s.slot_name, s.slot_name || '/' || s.xmin, null, true
    from pg_replication_slots s where s.xmin is not null
$$;

create function bulkhead.wal_segment(name text) returns bigint
language sql stable set search_path = pg_catalog, pg_temp as $$
    select ('x' || substr($1, 9, 8))::bit(32)::bigint
            * (4294967296 / pg_size_bytes(current_setting('wal_segment_size')))
        + ('x' || substr($1, 17, 8))::bit(32)::bigint
$$;

-- How many segments of WAL are full and not archived. The distance from the last that was archived is had without
-- reading a directory, which grows long when archiving fails.
create function bulkhead.archive_queue() returns bigint
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    last text := (select a.last_archived_wal from pg_stat_archiver a);
begin
    if current_setting('archive_mode') = 'off' then
        return 0;
    elsif last ~ '^[0-9A-F]{24}$' then
        return greatest(0, bulkhead.wal_segment(pg_walfile_name(pg_current_wal_lsn()))
            - bulkhead.wal_segment(last) - 1);
    end if;
    return (select count(*) from pg_ls_archive_statusdir() f where f.name ~ '^[0-9A-F]{24}\.ready$');
exception when insufficient_privilege then
    return null;
end $$;
