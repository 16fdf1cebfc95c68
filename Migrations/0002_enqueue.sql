-- What callers use: from psql, from an application's transaction, from the command line.

-- Rings the doorbell for a job, once a transaction for each queue, and again only for a job that
-- would run before the one already announced.
create function bulkhead.ring_job(queue text, priority int, id bigint) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    rung jsonb := coalesce(nullif(current_setting('bulkhead.rung', true), ''), '{}')::jsonb;
begin
    if (rung ->> queue)::int <= priority then
        return;
    end if;
    perform set_config('bulkhead.rung', (rung || jsonb_build_object(queue, priority))::text, true);
    perform pg_notify('bulkhead_job',
        jsonb_build_object('queue', queue, 'priority', priority, 'id', id)::text);
end $$;

-- Refuses limits that cannot be kept, and returns them in the form in which they are stored: numbers, and
-- times as they were written. A null takes a limit away.
create function bulkhead.check_limits(limits jsonb) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    checked jsonb := '{}';
    entry record;
    kept jsonb;
begin
    if limits is null then
        return null;
    elsif jsonb_typeof(limits) <> 'object' then
        raise exception 'limits must be a JSON object, not %', jsonb_typeof(limits) using errcode = '22023';
    end if;
    for entry in
        select e.key, e.value #>> '{}' as text,
               case when e.key = 'nice' then 'a number from 0 to 1000'
                    when e.key in ('replica_lag', 'snapshot_age') then 'an interval such as ''10 s'''
                    when e.key in ('lock_waiters', 'archive_queue') then 'a whole number from 0 up'
                    when e.key = 'wal_rate' then 'bytes per second, from 1 up, such as 1000000 or ''50MB'''
               end as wanted
        from jsonb_each(limits) e
    loop
        if entry.wanted is null then
            raise exception 'there is no limit %: there are nice, replica_lag, lock_waiters, wal_rate, '
                'snapshot_age and archive_queue', entry.key using errcode = '22023';
        end if;
        begin
            kept := case
                when entry.text is null then 'null'
                when entry.key = 'nice' and entry.text::numeric between 0 and 1000
                    then to_jsonb(trim_scale(round(entry.text::numeric, 3)))
                when entry.key in ('replica_lag', 'snapshot_age')
                    and entry.text::interval between '0 s' and '100 years' then to_jsonb(entry.text)
                when entry.key in ('lock_waiters', 'archive_queue') and entry.text::int >= 0
                    then to_jsonb(entry.text::int)
                when entry.key = 'wal_rate' and pg_size_bytes(regexp_replace(entry.text, '/s$', '')) >= 1
                    then to_jsonb(pg_size_bytes(regexp_replace(entry.text, '/s$', '')))
            end;
        exception when data_exception then
            kept := null;
        end;
        if kept is null then
            raise exception 'the limit % takes %, not %', entry.key, entry.wanted, entry.text
                using errcode = '22023';
        end if;
        checked := checked || jsonb_build_object(entry.key, kept);
    end loop;
    return checked;
end $$;

create function bulkhead.enqueue(
    kind text,
    args jsonb default '{}',
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
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    due timestamptz := coalesce(enqueue.run_at, now() + enqueue.run_in, now());
    checked_limits jsonb := nullif(jsonb_strip_nulls(bulkhead.check_limits(enqueue.limits)), '{}');
    new_id bigint;
begin
    if coalesce(enqueue.kind, '') = '' or length(enqueue.kind) > 128 then
        raise exception 'kind must have 1 to 128 characters' using errcode = '22023';
    elsif jsonb_typeof(enqueue.args) is distinct from 'object' then
        raise exception 'args must be a JSON object, not %', coalesce(jsonb_typeof(enqueue.args), 'null')
            using errcode = '22023';
    elsif coalesce(enqueue.queue, '') = '' or length(enqueue.queue) > 128 then
        raise exception 'queue must have 1 to 128 characters' using errcode = '22023';
    elsif enqueue.priority is null then
        raise exception 'priority must be a number; lower runs first' using errcode = '22023';
    elsif coalesce(enqueue.max_attempts, 0) < 1 then
        raise exception 'max_attempts must be at least 1' using errcode = '22023';
    elsif length(enqueue.unique_key) > 512 then
        raise exception 'unique_key must have at most 512 characters' using errcode = '22023';
    elsif enqueue.host = '' then
        raise exception 'host must have a name; null lets every host run the job' using errcode = '22023';
    elsif enqueue.run_at is not null and enqueue.run_in is not null then
        raise exception 'give run_at or run_in, not both' using errcode = '22023';
    elsif not isfinite(due) then
        raise exception 'run_at must be a moment in time, not %', due using errcode = '22023';
    end if;

    loop
        insert into bulkhead.job (kind, args, queue, priority, state, run_at, max_attempts, unique_key, tags, host,
                                  limits)
        values (enqueue.kind, enqueue.args, enqueue.queue, enqueue.priority,
                case when due > now() then 'scheduled' else 'available' end,
                due, enqueue.max_attempts, enqueue.unique_key, enqueue.tags, enqueue.host,
                checked_limits)
        on conflict (kind, unique_key)
            where unique_key is not null and state not in ('completed', 'cancelled', 'discarded')
            do nothing
        returning id into new_id;
        exit when new_id is not null;

        -- The job that has the key already; it may end between the two statements, then the key is free.
        select job.id into new_id from bulkhead.job
        where job.kind = enqueue.kind and job.unique_key = enqueue.unique_key
          and job.state not in ('completed', 'cancelled', 'discarded');
        if found then
            return new_id;
        end if;
    end loop;

    if enqueue.notify then
        perform bulkhead.ring_job(enqueue.queue, enqueue.priority, new_id);
    end if;
    return new_id;
end $$;
comment on function bulkhead.enqueue is
    'Adds a job inside the caller''s transaction and returns its id; with a unique_key that an unfinished '
    'job of the kind has, returns that job''s id';
