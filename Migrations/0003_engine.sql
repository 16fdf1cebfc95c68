-- What a daemon calls. Every write of a worker is fenced: it counts only while the job, its attempt and
-- the daemon's lease are still the caller's.

-- Class of the advisory locks that batches hold on their job.
create function bulkhead.lock_class() returns int
language sql immutable parallel safe set search_path = pg_catalog, pg_temp as
$$ select 1112884292 $$;

create function bulkhead.lock_key(job bigint) returns int
language sql immutable parallel safe set search_path = pg_catalog, pg_temp as
$$ select (job & 2147483647)::int $$;

create function bulkhead.register_daemon(
    id uuid, host text, pid int, process_start text, version text,
    kinds text[], queues text[], workers int, lease interval
) returns void
language sql set search_path = pg_catalog, pg_temp as $$
    insert into bulkhead.daemon (id, host, pid, process_start, version, kinds, queues, workers, lease_expires_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp() + $9)
$$;

-- Renews the lease and returns what people ask of the daemon's jobs. A lease that has run out is renewed
-- as well: what others took meanwhile has another attempt, and the fence tells.
create function bulkhead.renew_lease(daemon uuid, lease interval)
returns table (job bigint, what text)
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    update bulkhead.daemon d set lease_expires_at = clock_timestamp() + renew_lease.lease
    where d.id = renew_lease.daemon;
    if not found then
        raise exception 'daemon % has lost its lease: another one took its jobs', renew_lease.daemon
            using errcode = 'BH002';
    end if;
    return query
        select j.id, bulkhead.requested(j.id) from bulkhead.job j
        where j.id in (select r.job from bulkhead.request r)
          and j.state = 'running' and j.daemon = renew_lease.daemon;
end $$;

create function bulkhead.unregister_daemon(daemon uuid) returns void
language sql set search_path = pg_catalog, pg_temp as $$
    delete from bulkhead.daemon d where d.id = $1
$$;

create function bulkhead.holds_lease(daemon uuid) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
    select exists (
        select from bulkhead.daemon d where d.id = $1 and d.lease_expires_at > clock_timestamp())
$$;

-- Ends the leases of daemons whose process is known to be gone.
create function bulkhead.end_leases(daemons uuid[]) returns void
language sql set search_path = pg_catalog, pg_temp as $$
    update bulkhead.daemon set lease_expires_at = '-infinity' where id = any ($1)
$$;

-- How many more jobs of a queue may run; null: any number. Who claims from a limited queue waits for whoever
-- else does, to count what those have claimed. It is no lock on the queue's row, which a psql left at
-- `begin; select bulkhead.limit_queue('q', 3)` would hold.
create function bulkhead.room(queue text) returns int
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    found_queue record;
begin
    select q.paused, q.max_running into found_queue from bulkhead.queue q where q.name = room.queue;
    if found_queue.paused then
        return 0;
    elsif found_queue.max_running is null then
        return null;
    end if;
    perform pg_advisory_xact_lock(1112884294, hashtext(room.queue));
    return found_queue.max_running
        - (select count(*) from bulkhead.job j where j.state = 'running' and j.queue = room.queue);
end $$;

-- Rings when a job of a limited queue has ended and others wait for its place: those may be the work of
-- another daemon.
create function bulkhead.ring_room(queue text) returns void
language sql set search_path = pg_catalog, pg_temp as $$
    select pg_notify('bulkhead_control', 'queue')
    from bulkhead.queue q
    where q.name = $1 and q.max_running is not null and not q.paused
      and exists (select from bulkhead.job j where j.queue = q.name and j.state = 'available')
$$;

-- What people ask of a job that runs: 'cancel' beats all, else the last word counts, 'pause' or 'resume'; null
-- when nobody asked.
create function bulkhead.requested(job bigint) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
    select case when bool_or(r.what = 'cancel') then 'cancel'
           else (array_agg(r.what order by r.id desc))[1] end
    from bulkhead.request r where r.job = $1
$$;

-- What a job heeds: its own limits before those of its queue. Its own are those that it was enqueued with, as
-- they were changed since.
create function bulkhead.limits_of(job bigint, queue text, limits jsonb) returns jsonb
language sql stable set search_path = pg_catalog, pg_temp as $$
    select nullif(
        coalesce((select q.limits from bulkhead.queue q where q.name = $2), '{}')
            || jsonb_strip_nulls(coalesce(jsonb_object_agg(e.key, e.value order by own.id), '{}')),
        '{}')
    from (
        select 0 as id, $3 as limits
        union all
        select l.id, l.limits from bulkhead.job_limit l where l.job = $1) as own
    cross join lateral jsonb_each(own.limits) as e
$$;

-- The same for a daemon, over its defaults: all values are numbers, times in seconds. Null when there are none.
create function bulkhead.limits_in_force(job bigint, defaults jsonb) returns jsonb
language sql stable set search_path = pg_catalog, pg_temp as $$
    select jsonb_object_agg(e.key, case
        when e.key in ('replica_lag', 'snapshot_age')
            then to_jsonb(extract(epoch from (e.value #>> '{}')::interval))
        else e.value end)
    from bulkhead.job j
    cross join lateral jsonb_each(
        coalesce(jsonb_strip_nulls(bulkhead.check_limits($2)), '{}')
            || coalesce(bulkhead.limits_of(j.id, j.queue, j.limits), '{}')) as e
    where j.id = $1
$$;

-- Claims work for one worker: one job, or a bunch of small ones. The search starts after the last
-- claimed key, so that it does not walk the dead index entries of all earlier claims again.
create function bulkhead.claim(
    daemon uuid, queue text, kinds text[], small_kinds text[], host text, bunch int,
    after_priority int, after_id bigint, limits jsonb default null
) returns table (
    id bigint, kind text, queue_name text, priority int, args text, attempt int, checkpoint text,
    rows_done bigint, batches bigint, result text, limits_in_force text
)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    first record;
    taken bigint[];
    free int;
    may_be_limited boolean;
begin
    if not bulkhead.holds_lease(claim.daemon) then
        raise exception 'daemon % has no lease', claim.daemon using errcode = 'BH002';
    end if;

    -- Due jobs are promoted here, so that no leader stands between a due job and its start.
    with due as materialized (
        select j.id from bulkhead.job j
        where j.queue = claim.queue and j.state in ('scheduled', 'retryable')
          and j.run_at <= clock_timestamp()
        order by j.run_at limit 1000
        for update skip locked
    )
    update bulkhead.job j set state = 'available' from due where j.id = due.id;
    if found then
        claim.after_priority := null;
        claim.after_id := null;
    end if;

    free := bulkhead.room(claim.queue);
    if free <= 0 then
        return;
    end if;

    select j.id, j.priority, j.kind, j.attempt into first
    from bulkhead.job j
    where j.queue = claim.queue and j.state = 'available' and j.kind = any (claim.kinds)
      and (j.host is null or j.host = claim.host)
      and (j.priority, j.id) > (coalesce(claim.after_priority, -2147483648), coalesce(claim.after_id, 0))
    order by j.priority, j.id limit 1
    for update skip locked;
    if not found then
        return;
    end if;
    taken := array[first.id];

    -- A job that was in a bunch of a dead worker runs alone, so that its attempts can be told.
    if claim.bunch > 1 and first.kind = any (claim.small_kinds) and first.attempt = 0 then
        taken := taken || array(
            select j.id from bulkhead.job j
            where j.queue = claim.queue and j.state = 'available' and j.kind = any (claim.small_kinds)
              and (j.host is null or j.host = claim.host) and j.attempt = 0
              and (j.priority, j.id) > (first.priority, first.id)
            order by j.priority, j.id limit least(claim.bunch, free) - 1
            for update skip locked);
    end if;

    may_be_limited := claim.limits is not null
        or exists (select from bulkhead.queue q where q.name = claim.queue and q.limits is not null)
        or exists (select from bulkhead.job_limit l where l.job = any (taken));
    return query
        with claimed as (
            update bulkhead.job j
            set state = 'running', attempt = j.attempt + 1, daemon = claim.daemon,
                rows_before = j.rows_done,
                started_at = case when cardinality(taken) = 1 then clock_timestamp() end
            where j.id = any (taken)
            returning j.*
        )
        select c.id, c.kind, c.queue, c.priority, c.args::text, c.attempt, c.checkpoint::text,
               c.rows_done, c.batches, c.result::text,
               case when may_be_limited or c.limits is not null
                    then bulkhead.limits_in_force(c.id, claim.limits)::text end
        from claimed c order by c.priority, c.id;
end $$;

-- Gives back jobs that run under a daemon's id though none of its workers has them: the server committed
-- their claim, but its answer was lost. Returns how many.
create function bulkhead.return_unheld(daemon uuid, held bigint[]) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    returned bigint;
begin
    update bulkhead.job j
    set state = case when bulkhead.requested(j.id) = 'pause' then 'paused' else 'available' end,
        daemon = null, waiting = null, attempt = j.attempt - 1,
        attempt_floor = least(j.attempt_floor, j.attempt - 1)
    where j.state = 'running' and j.daemon = return_unheld.daemon and j.id <> all (return_unheld.held);
    get diagnostics returned = row_count;
    return returned;
end $$;

-- Seconds until the next scheduled or retryable job of the queues is due; null when there is none.
create function bulkhead.next_due(queues text[]) returns double precision
language sql stable set search_path = pg_catalog, pg_temp as $$
    select extract(epoch from min(due.run_at) - clock_timestamp())::double precision
    from unnest($1) as q (name)
    cross join lateral (
        select j.run_at from bulkhead.job j
        where j.queue = q.name and j.state in ('scheduled', 'retryable')
        order by j.run_at limit 1) as due
$$;

-- Whether anything of the daemon's kinds and queues is running, or is available or due soon in a queue that
-- is not paused.
create function bulkhead.has_work(queues text[], kinds text[], host text, within interval) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
    select exists (
            select from bulkhead.job j
            where j.state = 'running' and j.queue = any ($1) and j.kind = any ($2)
              and (j.host is null or j.host = $3))
        or exists (
            select from unnest($1) as open (queue)
            where not exists (select from bulkhead.queue q where q.name = open.queue and q.paused)
              and (exists (
                    select from bulkhead.job j
                    where j.state = 'available' and j.queue = open.queue and j.kind = any ($2)
                      and (j.host is null or j.host = $3))
                or exists (
                    select from bulkhead.job j
                    where j.state in ('scheduled', 'retryable') and j.run_at <= clock_timestamp() + $4
                      and j.queue = open.queue and j.kind = any ($2)
                      and (j.host is null or j.host = $3))))
$$;

-- Records affected ids, at most 10,000 a row.
create function bulkhead.publish(relation text, operation text, ids jsonb, job bigint) returns void
language sql set search_path = pg_catalog, pg_temp as $$
    insert into bulkhead.change (relation, operation, ids, job)
    select $1, $2, null, $4 where $3 is null
    union all
    select $1, $2, $3, $4 where jsonb_array_length($3) between 1 and 10000
    union all
    select $1, $2, jsonb_agg(e.id order by e.n), $4
    from jsonb_array_elements($3) with ordinality as e (id, n)
    where jsonb_array_length($3) > 10000
    group by (e.n - 1) / 10000
$$;

-- Rings for lists of ids that belong together: with the ids where they fit into at most 8 payloads, else, and
-- where there is no list, with a hint.
create function bulkhead.ring_change(relation text, operation text, job bigint, lists jsonb) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if lists is null or octet_length(lists::text) > 8 * 3500 or exists (
        select from jsonb_array_elements(lists) l, jsonb_array_elements(l) e
        where octet_length(e::text) > 3500)
    then
        perform pg_notify('bulkhead_change', jsonb_build_object(
            'relation', relation, 'operation', operation, 'ids', null, 'job', job, 'more', true)::text);
        return;
    end if;
    -- A part takes the ids that end in its 3,500 bytes, so it holds under 7,000.
    perform pg_notify('bulkhead_change', jsonb_build_object(
        'relation', relation, 'operation', operation, 'ids', jsonb_agg(p.id order by p.n), 'job', job)::text)
    from (
        select e.id, row_number() over w as n, sum(octet_length(e.id::text) + 2) over w / 3500 as part
        from jsonb_array_elements(lists) with ordinality as l (ids, n),
             jsonb_array_elements(l.ids) with ordinality as e (id, n)
        window w as (order by l.n, e.n)) as p
    group by p.part;
end $$;

-- Rings for the changes of this transaction. The stored size tells long lists apart without reading them.
create function bulkhead.ring_changes() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    change record;
begin
    for change in
        select c.relation, c.operation, c.job,
               bool_and(c.ids is not null) and sum(pg_column_size(c.ids)) <= 8 * 3500 as is_short
        from bulkhead.change c
        where c.xid = pg_current_xact_id()
        group by c.relation, c.operation, c.job
    loop
        perform bulkhead.ring_change(
            change.relation, change.operation, change.job,
            case when change.is_short then (
                select jsonb_agg(c.ids) from bulkhead.change c
                where c.xid = pg_current_xact_id() and c.relation = change.relation
                  and c.operation = change.operation and c.job is not distinct from change.job) end);
    end loop;
end $$;

-- The last statement of a batch before COMMIT: the fence, with the progress and the doorbell.
create function bulkhead.commit_batch(
    job bigint, attempt int, daemon uuid, batches bigint,
    checkpoint jsonb, rows_done bigint, rows_total bigint, result jsonb
) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform bulkhead.ring_changes();
    update bulkhead.job j
    set checkpoint = commit_batch.checkpoint, rows_done = commit_batch.rows_done,
        rows_total = commit_batch.rows_total, result = commit_batch.result,
        batches = j.batches + 1, attempt_floor = j.attempt - 1, waiting = null,
        started_at = coalesce(j.started_at, clock_timestamp())
    where j.id = commit_batch.job and j.attempt = commit_batch.attempt
      and j.daemon = commit_batch.daemon and j.state = 'running'
      and j.batches = commit_batch.batches and bulkhead.holds_lease(commit_batch.daemon);
    if not found then
        raise exception 'job % is no longer attempt % of this worker', commit_batch.job, commit_batch.attempt
            using errcode = 'BH002';
    end if;
end $$;

-- Shows how far a transaction is that is still open, from beside it; refused as a batch would be.
create function bulkhead.show_progress(
    job bigint, attempt int, daemon uuid, batches bigint, rows_done bigint, rows_total bigint
) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    update bulkhead.job j
    set rows_done = show_progress.rows_done, rows_total = show_progress.rows_total,
        started_at = coalesce(j.started_at, clock_timestamp())
    where j.id = show_progress.job and j.attempt = show_progress.attempt
      and j.daemon = show_progress.daemon and j.state = 'running'
      and j.batches = show_progress.batches and bulkhead.holds_lease(show_progress.daemon);
    if not found then
        raise exception 'job % is no longer attempt % of this worker', show_progress.job, show_progress.attempt
            using errcode = 'BH002';
    end if;
end $$;

-- Says what a job waits for; null when it waits no more. Refused as a batch would be.
create function bulkhead.show_waiting(job bigint, attempt int, daemon uuid, waiting text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    update bulkhead.job j
    set waiting = show_waiting.waiting
    where j.id = show_waiting.job and j.attempt = show_waiting.attempt
      and j.daemon = show_waiting.daemon and j.state = 'running'
      and bulkhead.holds_lease(show_waiting.daemon);
    if not found then
        raise exception 'job % is no longer attempt % of this worker', show_waiting.job, show_waiting.attempt
            using errcode = 'BH002';
    end if;
end $$;

-- Seconds before the next attempt, from the number of attempts since the last committed batch: 1 s,
-- doubling to 10 min, half of it random so that failures do not come back in step.
create function bulkhead.backoff(failures int) returns interval
language sql volatile set search_path = pg_catalog, pg_temp as $$
    select least(600, power(2, least($1, 20) - 1)) * (0.5 + random()) * interval '1 second'
$$;

-- Ends an attempt. outcome: 'completed', 'cancelled', 'failed' (for good), 'retry' (again later) or
-- 'handed back' (again at once, the attempt not counted). What would run again heeds what people asked of it.
-- Returns the state that the job is in now.
create function bulkhead.finish(
    job bigint, attempt int, daemon uuid, outcome text, result jsonb,
    sqlstate text, message text, detail text, "position" text
) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    -- Only what is heeded here is deleted below: what comes meanwhile is for later.
    seen bigint[] := array(select r.id from bulkhead.request r where r.job = finish.job);
    asked text := case when seen <> '{}' then bulkhead.requested(finish.job) end;
    is_cancelled boolean := coalesce(asked = 'cancel', false);
    new_state text;
    row_queue text;
    row_priority int;
begin
    update bulkhead.job j
    set state = case
            when finish.outcome = 'completed' then 'completed'
            when finish.outcome = 'failed' then 'discarded'
            when finish.outcome = 'cancelled' or is_cancelled then 'cancelled'
            when finish.outcome = 'retry' and j.attempt - j.attempt_floor >= j.max_attempts then 'discarded'
            when asked = 'pause' then 'paused'
            when finish.outcome = 'handed back' then 'available'
            else 'retryable' end,
        run_at = case when finish.outcome = 'retry'
            then clock_timestamp() + bulkhead.backoff(j.attempt - j.attempt_floor) else j.run_at end,
        attempt = case when finish.outcome = 'handed back' then j.attempt - 1 else j.attempt end,
        attempt_floor = case when finish.outcome = 'handed back'
            then least(j.attempt_floor, j.attempt - 1) else j.attempt_floor end,
        finished_at = case when finish.outcome in ('completed', 'failed', 'cancelled') or is_cancelled
            or (finish.outcome = 'retry' and j.attempt - j.attempt_floor >= j.max_attempts)
            then clock_timestamp() end,
        started_at = coalesce(j.started_at, clock_timestamp()),
        result = coalesce(finish.result, j.result),
        daemon = null, waiting = null
    where j.id = finish.job and j.attempt = finish.attempt and j.daemon = finish.daemon
      and j.state = 'running' and bulkhead.holds_lease(finish.daemon)
    returning j.state, j.queue, j.priority into new_state, row_queue, row_priority;
    if not found then
        raise exception 'job % is no longer attempt % of this worker', finish.job, finish.attempt
            using errcode = 'BH002';
    end if;
    if finish.message is not null then
        insert into bulkhead.job_error (job, attempt, sqlstate, message, detail, "position")
        values (finish.job, finish.attempt, finish.sqlstate, finish.message, finish.detail, finish."position");
    end if;
    delete from bulkhead.request r where r.id = any (seen);
    if new_state = 'available' then
        perform bulkhead.ring_job(row_queue, row_priority, finish.job);
    end if;
    perform bulkhead.ring_room(row_queue);
    return new_state;
end $$;

-- Completes a bunch of small jobs; those that are no longer the caller's are left. Returns how many.
create function bulkhead.complete(jobs bigint[], daemon uuid) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    completed bigint;
begin
    if not bulkhead.holds_lease(complete.daemon) then
        raise exception 'daemon % has no lease', complete.daemon using errcode = 'BH002';
    end if;
    update bulkhead.job j
    set state = 'completed', finished_at = clock_timestamp(),
        started_at = coalesce(j.started_at, clock_timestamp()), daemon = null, waiting = null
    where j.id = any (complete.jobs) and j.attempt = 1 and j.daemon = complete.daemon
      and j.state = 'running';
    get diagnostics completed = row_count;
    delete from bulkhead.request r where r.job = any (complete.jobs)
        and exists (select from bulkhead.job j where j.id = r.job and j.state = 'completed');
    perform bulkhead.ring_room(q.name) from bulkhead.queue q
    where q.max_running is not null
      and exists (select from bulkhead.job j where j.id = any (complete.jobs) and j.queue = q.name);
    return completed;
end $$;

-- The server processes that hold a job's lock: one that is in a batch of it.
create function bulkhead.batch_processes(job bigint) returns setof int
language sql stable set search_path = pg_catalog, pg_temp as $$
    select l.pid from pg_locks l
    where l.locktype = 'advisory' and l.granted and l.objsubid = 2
      and l.database = (select oid from pg_database where datname = current_database())
      and l.classid = bulkhead.lock_class()::oid and l.objid = bulkhead.lock_key($1)::oid
      and l.pid <> pg_backend_pid()
$$;

-- Takes the next running job after the given id whose daemon is gone. First ends the server process
-- that still holds the job's lock: one that a frozen client left inside COPY ends by nothing else.
-- Returns no row when there is no such job; state is null for one that could not be taken. With only_ended
-- a lease that has merely run out is left: just after a restart of the server all of them have.
create function bulkhead.rescue(after bigint, only_ended boolean default false)
returns table (job bigint, state text, was text)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    lost record;
    holder int;
    taken record;
begin
    select j.id, j.daemon, coalesce(d.host || ' pid ' || d.pid, 'an unknown daemon') as was into lost
    from bulkhead.job j left join bulkhead.daemon d on d.id = j.daemon
    where j.state = 'running' and j.id > rescue.after
      and (d.id is null or d.lease_expires_at <=
           case when rescue.only_ended then '-infinity' else clock_timestamp() end)
    order by j.id limit 1;
    if not found then
        return;
    end if;

    for holder in select p from bulkhead.batch_processes(lost.id) p loop
        begin
            perform pg_terminate_backend(holder, 5000);
        exception when insufficient_privilege then
            -- Another role's: the fence still keeps it from committing.
            null;
        end;
    end loop;

    begin
        perform set_config('lock_timeout', '2s', true);
        update bulkhead.job j
        set state = case
                when bulkhead.requested(j.id) = 'cancel' then 'cancelled'
                when j.started_at is not null and j.attempt - j.attempt_floor >= j.max_attempts
                    then 'discarded'
                when bulkhead.requested(j.id) = 'pause' then 'paused'
                else 'available' end,
            finished_at = case
                when bulkhead.requested(j.id) = 'cancel'
                    or (j.started_at is not null and j.attempt - j.attempt_floor >= j.max_attempts)
                    then clock_timestamp() end,
            -- Not started, but one of a bunch: the attempt does not count.
            attempt_floor = case when j.started_at is null then j.attempt else j.attempt_floor end,
            daemon = null, waiting = null
        where j.id = lost.id and j.state = 'running' and j.daemon = lost.daemon
          and not exists (
              select from bulkhead.daemon d where d.id = j.daemon and d.lease_expires_at > clock_timestamp())
        returning j.id, j.attempt, j.attempt_floor, j.max_attempts, j.state, j.started_at, j.queue, j.priority
        into taken;
    exception when lock_not_available then
        return query select lost.id, null::text, lost.was;
        return;
    end;
    if taken.id is null then
        return query select lost.id, null::text, lost.was;
        return;
    end if;

    if taken.started_at is not null then
        insert into bulkhead.job_error (job, attempt, message)
        values (taken.id, taken.attempt, case when taken.state = 'discarded'
            then format('the daemon (%s) died or lost its lease while it ran this job, attempt %s of %s '
                        'without a committed batch: the job is given up',
                        lost.was, taken.attempt - taken.attempt_floor, taken.max_attempts)
            else format('the daemon (%s) died or lost its lease while it ran this job', lost.was) end);
    end if;
    if taken.state = 'available' then
        perform bulkhead.ring_job(taken.queue, taken.priority, taken.id);
    elsif taken.state <> 'paused' then
        delete from bulkhead.request r where r.job = taken.id;
    end if;
    perform bulkhead.ring_room(taken.queue);
    return query select taken.id, taken.state, lost.was;
end $$;

-- Removes the rows of daemons that are gone and have no running job left.
create function bulkhead.remove_dead_daemons() returns void
language sql set search_path = pg_catalog, pg_temp as $$
    delete from bulkhead.daemon d
    where d.lease_expires_at < clock_timestamp()
      and not exists (select from bulkhead.job j where j.state = 'running' and j.daemon = d.id)
$$;

-- Removes finished jobs that are older than the given age, with what belongs to them, among the next
-- 10,000 ids after the given one. Returns where to go on; null at the end.
create function bulkhead.remove_finished(age interval, after bigint) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    last bigint;
    gone bigint[];
begin
    select max(ids.id) into last from (
        select j.id from bulkhead.job j where j.id > remove_finished.after order by j.id limit 10000) as ids;
    with removed as (
        delete from bulkhead.job j
        where j.id > remove_finished.after and j.id <= last
          and j.finished_at < clock_timestamp() - remove_finished.age
        returning j.id)
    select array_agg(removed.id) into gone from removed;
    delete from bulkhead.job_error e where e.job = any (gone);
    delete from bulkhead.reject r where r.job = any (gone);
    delete from bulkhead.reject_file f where f.job = any (gone);
    -- One that came as the job ended.
    delete from bulkhead.request r where r.job = any (gone);
    delete from bulkhead.job_limit l where l.job = any (gone);
    return last;
end $$;
