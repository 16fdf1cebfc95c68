-- The tables that people read. Their names and columns are public; what the engine does with them is in
-- the functions of the later versions.

create schema bulkhead;
comment on schema bulkhead is 'Bulkhead: bulk imports, purges and migrations as jobs';

create table bulkhead.schema_version (
    version      int primary key,
    name         text not null,
    installed_at timestamptz not null default now(),
    installed_by text not null default current_user
);
comment on table bulkhead.schema_version is 'The versions of this schema that are installed';

create table bulkhead.job (
    id             bigint generated always as identity primary key,
    kind           text not null check (kind <> '' and length(kind) <= 128),
    queue          text not null default 'default' check (queue <> '' and length(queue) <= 128),
    priority       int not null default 0,
    state          text not null default 'available' check (state in (
                       'blocked', 'scheduled', 'available', 'running', 'retryable', 'paused',
                       'completed', 'cancelled', 'discarded')),
    args           jsonb not null default '{}' check (jsonb_typeof(args) = 'object'),
    run_at         timestamptz not null default now(),
    attempt        int not null default 0,
    -- Attempts up to this one count no more: a batch was committed since, or they never really ran.
    attempt_floor  int not null default 0,
    max_attempts   int not null default 20 check (max_attempts > 0),
    host           text check (host <> ''),
    daemon         uuid,
    checkpoint     jsonb,
    rows_done      bigint not null default 0,
    -- rows_done when the attempt started, so that a rate can be told.
    rows_before    bigint not null default 0,
    rows_total     bigint,
    batches        bigint not null default 0,
    result         jsonb,
    unique_key     text,
    tags           text[],
    limits         jsonb,
    waiting        text,
    enqueued_by    text not null default current_user,
    created_at     timestamptz not null default now(),
    started_at     timestamptz,
    finished_at    timestamptz,
    check ((finished_at is not null) = (state in ('completed', 'cancelled', 'discarded'))),
    check ((daemon is not null) = (state = 'running'))
) with (
    -- Room for HOT updates of progress, and a vacuum that keeps up with a queue.
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 1
);
comment on table bulkhead.job is 'Work to do, being done and done; one row a job';
comment on column bulkhead.job.host is 'Only daemons of this host run the job; null: any';
comment on column bulkhead.job.checkpoint is 'Where the next batch starts';
comment on column bulkhead.job.limits is 'What it was told to heed when it was enqueued; see bulkhead.job_limit';
comment on column bulkhead.job.waiting is 'What it waits for while it runs, in words; null: it works';

-- Claims walk this one in order.
create index job_available on bulkhead.job (queue, priority, id) where state = 'available';
create index job_due on bulkhead.job (queue, run_at) where state in ('scheduled', 'retryable');
-- By id, though daemons look for theirs: a planner that takes it for one job, since it is small, then reads
-- the entries of that job and not the dead ones of all that ran, which an old transaction keeps.
create index job_running on bulkhead.job (id) where state = 'running';
-- For people who look at queues.
create index job_held on bulkhead.job (queue) where state in ('paused', 'blocked');
create unique index job_unique_key on bulkhead.job (kind, unique_key)
    where unique_key is not null and state not in ('completed', 'cancelled', 'discarded');

create table bulkhead.daemon (
    id               uuid primary key,
    host             text not null,
    pid              int not null,
    process_start    text not null,
    version          text not null,
    kinds            text[] not null,
    queues           text[] not null,
    workers          int not null,
    started_at       timestamptz not null default now(),
    lease_expires_at timestamptz not null,
    unheeded         jsonb not null default '{}'
) with (fillfactor = 50, autovacuum_vacuum_threshold = 100, autovacuum_vacuum_scale_factor = 0);
comment on table bulkhead.daemon is 'The processes that run jobs; a lease in the past means that one is gone';
comment on column bulkhead.daemon.process_start is 'Tells one process from a later one with the same pid';
comment on column bulkhead.daemon.unheeded is 'Limits that it cannot keep, since it cannot read what they limit, and why';

create table bulkhead.request (
    id   bigint generated always as identity primary key,
    job  bigint not null,
    what text not null check (what in ('cancel', 'pause', 'resume')),
    "by" text not null default current_user,
    at   timestamptz not null default now()
);
comment on table bulkhead.request is
    'What people asked of running jobs; insert-only, gone when it is done, withdrawn or past';
create index request_job on bulkhead.request (job);

create table bulkhead.job_limit (
    id     bigint generated always as identity primary key,
    job    bigint not null,
    limits jsonb not null,
    "by"   text not null default current_user,
    at     timestamptz not null default now()
);
comment on table bulkhead.job_limit is
    'How limits of jobs were changed since they were enqueued; insert-only, the last word on a limit counts';
create index job_limit_job on bulkhead.job_limit (job, id);

create table bulkhead.queue (
    name        text primary key check (name <> '' and length(name) <= 128),
    paused      boolean not null default false,
    max_running int check (max_running > 0),
    limits      jsonb,
    "by"        text not null default current_user,
    at          timestamptz not null default now()
);
comment on table bulkhead.queue is 'Queues that were paused or limited; one without a row is neither';
comment on column bulkhead.queue.max_running is
    'How many of its jobs run at once, over all daemons; null: any number';
comment on column bulkhead.queue.limits is 'What its jobs heed where they do not say';
comment on column bulkhead.queue."by" is 'Who changed it last';

create table bulkhead.job_error (
    id         bigint generated always as identity primary key,
    job        bigint not null,
    attempt    int not null,
    at         timestamptz not null default now(),
    sqlstate   text,
    message    text not null,
    detail     text,
    "position" text
);
comment on table bulkhead.job_error is 'Why attempts failed; position says where in the input';
create index job_error_job on bulkhead.job_error (job, id);

create table bulkhead.reject (
    id          bigint generated always as identity primary key,
    job         bigint not null,
    file        text not null,
    line        bigint not null,
    byte_offset bigint not null,
    column_name text,
    value       text,
    sqlstate    text not null,
    message     text not null,
    raw         bytea not null,
    row_bytes   bigint not null,
    line_end    text not null
);
comment on table bulkhead.reject is 'Input rows that could not be loaded, as they stood in the file';
comment on column bulkhead.reject.line is 'The physical line where the row starts, from the top of the file';
comment on column bulkhead.reject.raw is 'The row without its line end, at most its first 64 KiB';
comment on column bulkhead.reject.row_bytes is 'The size of the whole row, without its line end';
comment on column bulkhead.reject.line_end is 'What ended the row in the file; empty at the end of the file';
create index reject_job on bulkhead.reject (job, id);

create table bulkhead.reject_file (
    job          bigint not null,
    file         text not null,
    header       bytea,
    is_converted boolean not null,
    primary key (job, file)
);
comment on table bulkhead.reject_file is 'What a file''s rejects need besides to be a file again';
comment on column bulkhead.reject_file.header is 'The header with its line end; null where the file has none';
comment on column bulkhead.reject_file.is_converted is 'Whether the file is in another encoding than its rejects'' UTF-8';

create table bulkhead.change (
    id        bigint generated always as identity primary key,
    xid       xid8 not null default pg_current_xact_id(),
    relation  text not null,
    operation text not null check (operation in ('insert', 'update', 'delete', 'reset')),
    ids       jsonb,
    job       bigint,
    at        timestamptz not null default now()
);
comment on table bulkhead.change is 'The ids that each committed batch touched';
comment on column bulkhead.change.ids is 'Primary keys, at most 10,000; null: read the table again';
create index change_xid on bulkhead.change (xid, id);

-- The lists are long and alike: lz4 packs them in a tenth of the time of the usual method, where the server
-- was built with it.
do $$
begin
    alter table bulkhead.change alter column ids set compression lz4;
exception when feature_not_supported then
    null;
end $$;
