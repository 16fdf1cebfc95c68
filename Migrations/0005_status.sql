-- Views for people.

create view bulkhead.job_status as
select
    j.id, j.kind, j.queue, j.priority, j.state, j.args, j.run_at, j.attempt, j.max_attempts, j.host,
    j.daemon, j.checkpoint, j.rows_done, j.rows_total, j.batches, j.result, j.unique_key, j.tags,
    j.enqueued_by, j.created_at, j.started_at, j.finished_at,
    case when j.state = 'completed' then 100
         when j.rows_total > 0 then least(100, round(100.0 * j.rows_done / j.rows_total, 1)) end as percent,
    round(pace.rows / nullif(pace.seconds, 0)) as rows_per_second,
    case when j.state = 'running' and pace.rows > 0
         then make_interval(secs => pace.seconds * greatest(j.rows_total - j.rows_done, 0) / pace.rows)
         end as eta,
    make_interval(secs => pace.seconds) as runtime,
    (select e.message from bulkhead.job_error e where e.job = j.id order by e.id desc limit 1) as last_error,
    exists (select from bulkhead.request r where r.job = j.id and r.what = 'cancel') as cancel_requested
from bulkhead.job j
cross join lateral (
    select (j.rows_done - j.rows_before)::numeric as rows,
           extract(epoch from coalesce(j.finished_at,
               case when j.state = 'running' then clock_timestamp() end) - j.started_at)::numeric as seconds
) as pace;
comment on view bulkhead.job_status is
    'Jobs with percent, rate, time left, run time and last error; rate and run time are those of the last attempt';

create view bulkhead.daemon_status as
select
    d.id, d.host, d.pid, d.version, d.kinds, d.queues, d.workers, d.started_at, d.lease_expires_at,
    d.lease_expires_at > clock_timestamp() as alive,
    (select count(*) from bulkhead.job j where j.state = 'running' and j.daemon = d.id) as running
from bulkhead.daemon d;
comment on view bulkhead.daemon_status is 'Daemons, whether their lease runs, and how many jobs they hold';
