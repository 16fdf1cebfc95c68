-- What people use to steer jobs and queues; each function runs inside the caller's transaction.
--
-- A running job is asked, not touched: its row must stay free for the next batch, however long the caller's
-- transaction stays open.

create function bulkhead.present_state(id bigint) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    present text := (select j.state from bulkhead.job j where j.id = present_state.id);
begin
    if present is null then
        raise exception 'there is no job %', coalesce(present_state.id::text, '(the id is null)')
            using errcode = 'P0002';
    end if;
    return present;
end $$;

create function bulkhead.ask(job bigint, what text) returns void
language sql set search_path = pg_catalog, pg_temp as $$
    insert into bulkhead.request (job, what) values ($1, $2);
    select pg_notify('bulkhead_control', 'request')
$$;

create function bulkhead.cancel(id bigint) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    present text;
begin
    loop
        update bulkhead.job set state = 'cancelled', finished_at = now()
        where id = cancel.id and state in ('blocked', 'scheduled', 'available', 'retryable', 'paused');
        if found then
            delete from bulkhead.request r where r.job = cancel.id;
            return cancel.id;
        end if;
        present := bulkhead.present_state(cancel.id);
        if present in ('completed', 'cancelled', 'discarded') then
            raise exception 'job % is already %', cancel.id, present using errcode = '55000';
        end if;
        -- Else it was handed back between the two statements.
        exit when present = 'running';
    end loop;
    perform bulkhead.ask(cancel.id, 'cancel');
    return cancel.id;
end $$;
comment on function bulkhead.cancel is
    'Cancels a job: a waiting one at once, a running one as soon as its worker hears of it';

create function bulkhead.pause(id bigint) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    present text;
begin
    loop
        update bulkhead.job set state = 'paused'
        where id = pause.id and state in ('scheduled', 'available', 'retryable');
        if found then
            delete from bulkhead.request r where r.job = pause.id;
            return pause.id;
        end if;
        present := bulkhead.present_state(pause.id);
        if present in ('completed', 'cancelled', 'discarded') then
            raise exception 'job % is already %', pause.id, present using errcode = '55000';
        elsif present = 'blocked' then
            raise exception 'job % waits for other jobs and cannot be paused', pause.id
                using errcode = '55000', hint = 'pause those, or its queue';
        elsif present = 'paused' then
            return pause.id;
        end if;
        exit when present = 'running';
    end loop;
    perform bulkhead.ask(pause.id, 'pause');
    return pause.id;
end $$;
comment on function bulkhead.pause is
    'Pauses a job until it is resumed: a waiting one at once, a running one after the batch that it is in';

create function bulkhead.resume(id bigint) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    resumed record;
    present text;
begin
    loop
        update bulkhead.job set state = case when run_at > now() then 'scheduled' else 'available' end
        where id = resume.id and state = 'paused'
        returning queue, priority into resumed;
        if found then
            delete from bulkhead.request r where r.job = resume.id;
            perform bulkhead.ring_job(resumed.queue, resumed.priority, resume.id);
            return resume.id;
        end if;
        present := bulkhead.present_state(resume.id);
        exit when present <> 'paused';
    end loop;
    if present in ('completed', 'cancelled', 'discarded') then
        raise exception 'job % is already %', resume.id, present
            using errcode = '55000',
                  hint = case when present <> 'completed' then 'retry runs it again' end;
    elsif bulkhead.requested(resume.id) = 'pause' then
        perform bulkhead.ask(resume.id, 'resume');
    end if;
    return resume.id;
end $$;
comment on function bulkhead.resume is
    'Lets a paused job go on from its checkpoint, or withdraws the request to pause a running one';

-- A completed job stays as it is: its result is the account of what it did.
create function bulkhead.retry(
    id bigint, from_start boolean default false, max_rejects bigint default null
) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    job record;
begin
    perform bulkhead.present_state(retry.id);
    select j.state, j.kind, j.queue, j.priority, j.unique_key into job
    from bulkhead.job j where j.id = retry.id and j.state <> 'running'
    for update;
    if job.state is null then
        raise exception 'job % is running', retry.id
            using errcode = '55000', hint = 'pause or cancel it first';
    elsif job.state = 'completed' then
        raise exception 'job % is completed: enqueue a new one to do the work again', retry.id
            using errcode = '55000';
    elsif job.state in ('available', 'scheduled', 'blocked') then
        raise exception 'job % is % and will run: there is nothing to retry', retry.id, job.state
            using errcode = '55000', hint = 'cancel it first to begin anew';
    elsif retry.max_rejects is not null and job.kind <> 'import' then
        raise exception 'max_rejects is for imports; job % is of kind %', retry.id, job.kind
            using errcode = '22023';
    elsif retry.max_rejects < 0 then
        raise exception 'max_rejects must not be negative' using errcode = '22023';
    end if;

    begin
        update bulkhead.job j
        set state = 'available', run_at = now(), attempt = 0, attempt_floor = 0, started_at = null,
            finished_at = null,
            args = case when retry.max_rejects is null then j.args
                else j.args || jsonb_build_object('max_rejects', retry.max_rejects) end
        where j.id = retry.id;
    exception when unique_violation then
        raise exception 'job % has the same unique key as job %, and is not finished',
            (select o.id from bulkhead.job o
             where o.kind = job.kind and o.unique_key = job.unique_key and o.id <> retry.id
               and o.state not in ('completed', 'cancelled', 'discarded')), retry.id
            using errcode = '55000', hint = 'wait for its end, or cancel it';
    end;
    if retry.from_start then
        -- One more batch, so that none of the former run, which a dead connection may still be committing,
        -- passes the fence.
        update bulkhead.job j
        set checkpoint = null, result = null, rows_done = 0, rows_before = 0, rows_total = null,
            batches = j.batches + 1
        where j.id = retry.id;
        delete from bulkhead.reject r where r.job = retry.id;
        delete from bulkhead.reject_file f where f.job = retry.id;
    end if;
    -- What was asked of the former run.
    delete from bulkhead.request r where r.job = retry.id;
    perform bulkhead.ring_job(job.queue, job.priority, retry.id);
    return retry.id;
end $$;
comment on function bulkhead.retry is
    'Runs a job again that failed, was cancelled, is paused or waits for its next attempt: from its '
    'checkpoint, or from the start, with its attempts back at 0';

-- Does what was asked of jobs that stopped running in the same moment: their workers did not hear of it.
create function bulkhead.heed_late_requests() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    late record;
    seen bigint[];
    asked text;
begin
    for late in
        select j.id, j.state, j.queue, j.priority from bulkhead.job j
        where j.id in (select r.job from bulkhead.request r) and j.state <> 'running'
        for update skip locked
    loop
        seen := array(select r.id from bulkhead.request r where r.job = late.id);
        asked := bulkhead.requested(late.id);
        if late.state not in ('completed', 'cancelled', 'discarded') then
            update bulkhead.job j
            set state = case
                    when asked = 'cancel' then 'cancelled'
                    when asked = 'pause' and j.state <> 'blocked' then 'paused'
                    when asked = 'resume' and j.state = 'paused'
                        then case when j.run_at > now() then 'scheduled' else 'available' end
                    else j.state end,
                finished_at = case when asked = 'cancel' then now() end
            where j.id = late.id;
            if asked = 'resume' then
                perform bulkhead.ring_job(late.queue, late.priority, late.id);
            end if;
        end if;
        delete from bulkhead.request r where r.id = any (seen);
    end loop;
end $$;

create function bulkhead.check_queue(queue text) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    if coalesce(queue, '') = '' or length(queue) > 128 then
        raise exception 'queue must have 1 to 128 characters' using errcode = '22023';
    end if;
    return queue;
end $$;

create function bulkhead.pause_queue(queue text) returns text
language sql set search_path = pg_catalog, pg_temp as $$
    insert into bulkhead.queue as q (name, paused) values (bulkhead.check_queue($1), true)
    on conflict (name) do update set paused = true, "by" = current_user, at = now();
    select pg_notify('bulkhead_control', 'queue');
    select $1
$$;
comment on function bulkhead.pause_queue is
    'Keeps the jobs of a queue from being started; those that run go on to their end';

create function bulkhead.resume_queue(queue text) returns text
language sql set search_path = pg_catalog, pg_temp as $$
    insert into bulkhead.queue as q (name, paused) values (bulkhead.check_queue($1), false)
    on conflict (name) do update set paused = false, "by" = current_user, at = now();
    select pg_notify('bulkhead_control', 'queue');
    select $1
$$;
comment on function bulkhead.resume_queue is 'Lets the jobs of a paused queue be started again';

create function bulkhead.limit_queue(queue text, max_running int) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if limit_queue.max_running < 1 then
        raise exception 'max_running must be at least 1, or null for no limit' using errcode = '22023',
            hint = 'to start none of its jobs, pause the queue';
    end if;
    insert into bulkhead.queue as q (name, max_running)
    values (bulkhead.check_queue(limit_queue.queue), limit_queue.max_running)
    on conflict (name) do update
        set max_running = limit_queue.max_running, "by" = current_user, at = now();
    perform pg_notify('bulkhead_control', 'queue');
    return limit_queue.queue;
end $$;
comment on function bulkhead.limit_queue is
    'Sets how many jobs of a queue may run at once, over all daemons; null for any number';
