-- Views for people.

-- How far the index is that a job's session is building, and what the build waits for.
create function bulkhead.index_build(job bigint, out percent numeric, out waiting text)
language sql stable set search_path = pg_catalog, pg_temp as $$
    select round(100.0 * case when p.tuples_total > 0 then p.tuples_done::numeric / p.tuples_total
                              when p.blocks_total > 0 then p.blocks_done::numeric / p.blocks_total end, 1),
           case when p.phase like 'waiting%' then concat('an index build, ', p.phase,
               ' (' || nullif(concat_ws(', ', 'pid ' || nullif(p.current_locker_pid, 0), a.usename,
                   nullif(a.application_name, '')), '') || ')') end
    from bulkhead.batch_processes($1) as b (pid)
    join pg_stat_progress_create_index p on p.pid = b.pid
    left join pg_stat_activity a on a.pid = p.current_locker_pid
    limit 1
$$;

create view bulkhead.job_status as
select
    j.id, j.kind, j.queue, j.priority, j.state, j.args, j.run_at, j.attempt, j.max_attempts, j.host,
    j.daemon, j.checkpoint, j.rows_done, j.rows_total, j.batches, j.result, j.unique_key, j.tags,
    j.enqueued_by, j.created_at, j.started_at, j.finished_at,
    case when j.state = 'completed' then 100
         when build.percent is not null then build.percent
         when j.rows_total > 0 then least(100, round(100.0 * j.rows_done / j.rows_total, 1)) end as percent,
    round(pace.rows / nullif(pace.seconds, 0)) as rows_per_second,
    case when j.state = 'running' and pace.rows > 0
         then make_interval(secs => pace.seconds * greatest(j.rows_total - j.rows_done, 0) / pace.rows)
         end as eta,
    make_interval(secs => pace.seconds) as runtime,
    (select e.message from bulkhead.job_error e where e.job = j.id order by e.id desc limit 1) as last_error,
    exists (select from bulkhead.request r where r.job = j.id and r.what = 'cancel') as cancel_requested,
    coalesce((select r.what = 'pause' from bulkhead.request r
              where r.job = j.id and r.what <> 'cancel' order by r.id desc limit 1), false) as pause_requested,
    coalesce(j.waiting, build.waiting) as waiting,
    bulkhead.limits_of(j.id, j.queue, j.limits) as limits,
    (select array_agg(u.value order by u.key)
     from bulkhead.daemon d cross join lateral jsonb_each_text(d.unheeded) as u
     where d.id = j.daemon and bulkhead.limits_of(j.id, j.queue, j.limits) ? u.key) as unheeded
from bulkhead.job j
cross join lateral (
    select (j.rows_done - j.rows_before)::numeric as rows,
           extract(epoch from coalesce(j.finished_at,
               case when j.state = 'running' then clock_timestamp() end) - j.started_at)::numeric as seconds
) as pace
-- Looked for only where something runs.
left join lateral (select b.* from bulkhead.index_build(j.id) as b where j.state = 'running') as build on true;
comment on view bulkhead.job_status is
    'Jobs with percent, rate, time left, run time and last error; rate and run time are those of the last attempt';
comment on column bulkhead.job_status.waiting is 'What a running job waits for';
comment on column bulkhead.job_status.limits is 'What it heeds, from its own limits and those of its queue';
comment on column bulkhead.job_status.unheeded is 'Which of them its daemon cannot keep, and why';

create view bulkhead.daemon_status as
select
    d.id, d.host, d.pid, d.version, d.kinds, d.queues, d.workers, d.started_at, d.lease_expires_at,
    d.lease_expires_at > clock_timestamp() as alive, d.unheeded,
    (select count(*) from bulkhead.job j where j.state = 'running' and j.daemon = d.id) as running
from bulkhead.daemon d;
comment on view bulkhead.daemon_status is 'Daemons, whether their lease runs, and how many jobs they hold';

create view bulkhead.queue_status as
with waiting as (
    -- Each part by an index of its own: finished jobs, which are many, are never looked at.
    select j.queue, 'available' as state, count(*) as jobs, min(j.run_at) as since
    from bulkhead.job j where j.state = 'available' group by j.queue
    union all
    select j.queue, j.state, count(*), null
    from bulkhead.job j where j.state in ('scheduled', 'retryable') group by j.queue, j.state
    union all
    select j.queue, 'running', count(*), null
    from bulkhead.job j where j.state = 'running' group by j.queue
    union all
    select j.queue, j.state, count(*), null
    from bulkhead.job j where j.state in ('paused', 'blocked') group by j.queue, j.state
),
served as (
    select s.queue, count(*) as daemons
    from bulkhead.daemon d cross join lateral unnest(d.queues) as s (queue)
    where d.lease_expires_at > clock_timestamp()
    group by s.queue
),
known as (
    select w.queue from waiting w union select s.queue from served s union select q.name from bulkhead.queue q
)
select
    k.queue as name, coalesce(q.paused, false) as paused, q.max_running,
    coalesce(w.available, 0) as available, coalesce(w.running, 0) as running,
    coalesce(w.scheduled, 0) as scheduled, coalesce(w.retryable, 0) as retryable,
    coalesce(w.paused_jobs, 0) as paused_jobs, coalesce(w.blocked, 0) as blocked,
    coalesce(s.daemons, 0) as daemons, w.waiting_since, q."by", q.at, q.limits
from known k
left join bulkhead.queue q on q.name = k.queue
left join served s on s.queue = k.queue
left join (
    select w.queue,
           sum(w.jobs) filter (where w.state = 'available')::bigint as available,
           sum(w.jobs) filter (where w.state = 'running')::bigint as running,
           sum(w.jobs) filter (where w.state = 'scheduled')::bigint as scheduled,
           sum(w.jobs) filter (where w.state = 'retryable')::bigint as retryable,
           sum(w.jobs) filter (where w.state = 'paused')::bigint as paused_jobs,
           sum(w.jobs) filter (where w.state = 'blocked')::bigint as blocked,
           min(w.since) as waiting_since
    from waiting w group by w.queue) as w on w.queue = k.queue;
comment on view bulkhead.queue_status is
    'Queues that have unfinished jobs, are served by a daemon that is alive, or were paused or limited';
comment on column bulkhead.queue_status.waiting_since is 'Since when the longest waiting available job could run';
