-- Purge and restore as a caller sees them. The daemon deletes the rows.

create table bulkhead.archive_block (
    job         bigint not null,
    batch       bigint not null,
    n           int not null,
    relation    text not null,
    operation   text not null check (operation in ('delete', 'update')),
    columns     text[] not null,
    archive     text,
    file        text,
    host        text,
    byte_offset bigint,
    bytes       bigint,
    checksum    bigint,
    rows        bigint not null,
    at          timestamptz not null default now(),
    restored_by bigint,
    primary key (job, batch, n),
    check (num_nonnulls(archive, file) = 1),
    check (num_nonnulls(file, byte_offset, bytes, checksum) in (0, 4))
);
comment on table bulkhead.archive_block is
    'What each batch of a purge archived, and where; it stays when the job is gone';
comment on column bulkhead.archive_block.n is 'In the order in which a restore brings them back';
comment on column bulkhead.archive_block.relation is 'The table that the rows were in, of a partitioned one the partition';
comment on column bulkhead.archive_block.operation is
    'delete: whole rows that are gone; update: rows as they were before a foreign key set some columns';
comment on column bulkhead.archive_block.columns is 'The columns that are archived, or those that were set';
comment on column bulkhead.archive_block.archive is 'The table that holds them, by purged_by and purged_batch';
comment on column bulkhead.archive_block.file is 'The file that holds them, as one gzip member of JSON lines';
comment on column bulkhead.archive_block.checksum is 'The CRC-32 of the block as it lies in the file';
comment on column bulkhead.archive_block.restored_by is 'The job that brought them back';

-- Refuses what is not one boolean expression over the table, as the caller's search_path reads it: so this one
-- function pins none. A cursor takes one statement only, so nothing but the plan is asked for; and only an
-- expression can stand both between round and between square brackets.
create function bulkhead.check_condition(table_name text, condition text) returns void
language plpgsql as $$
declare
    form text;
    plan refcursor;
begin
    foreach form in array array[E'(\n%s\n)', E'(array[\n%s\n])[1]'] loop
        begin
            open plan for execute pg_catalog.format(
                'explain select from %s as %I where ' || form, table_name,
                (select c.relname from pg_catalog.pg_class c where c.oid = table_name::regclass), condition);
            close plan;
        exception
            when insufficient_privilege then
                -- The daemon may, and looks again.
                null;
            when others then
                raise exception 'the condition is not one boolean expression over %: %', table_name, sqlerrm
                    using errcode = '22023', hint = 'it is what would follow WHERE, and no more';
        end;
    end loop;
end $$;

-- The args of a purge, refused at once where they are wrong.
create function bulkhead.purge_args(
    table_name text, condition text, column_name text, older_than interval, all_rows boolean, archive text,
    archive_schema text, max_rows bigint, batch int, force boolean, drop_partitions boolean, vacuum boolean,
    timezone text, dry_run boolean, search_path text[]
) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    is_file boolean := archive ~ '\.jsonl\.gz$';
    archive_name text[];
    column_type regtype := (
        select coalesce(nullif(t.typbasetype, 0), t.oid)
        from pg_attribute a join pg_type t on t.oid = a.atttypid
        where a.attrelid = table_name::regclass and a.attname = column_name and a.attnum > 0);
    wrong text := case
        when (select c.relnamespace::regnamespace::text in ('pg_catalog', 'information_schema', 'bulkhead')
              from pg_class c where c.oid = table_name::regclass)
            then table_name || ' is a table of the system: nobody purges it by hand'
        when all_rows and num_nonnulls(condition, column_name, older_than) > 0
            then 'all_rows goes with no condition'
        when condition is not null and num_nonnulls(column_name, older_than) > 0
            then 'give a condition, or column_name and older_than, not both'
        when num_nonnulls(column_name, older_than) = 1 then 'column_name and older_than go together'
        when not coalesce(all_rows, false) and num_nonnulls(condition, column_name) = 0
            then 'no condition: say which rows, by a condition or by column_name and older_than; '
                || 'all_rows says that every row is meant'
        when condition !~ '\S' then 'the condition is empty'
        when column_name is not null and column_type is null
            then format('%s has no column %s', table_name, column_name)
        when column_name is not null
            and column_type not in ('date'::regtype, 'timestamp'::regtype, 'timestamptz'::regtype)
            then format('column %s of %s is of type %s, which has no age: write a condition', column_name,
                table_name, column_type)
        when older_than is not null and not isfinite(now() - older_than)
            then 'older_than must be finite'
        when timezone is not null and column_name is null
            then 'timezone is for column_name and older_than: in a condition write at time zone'
        when archive = '' then 'archive is empty: name a table or a file'
        when archive ~ '/' and not is_file then 'an archive file ends in .jsonl.gz: ' || archive
        when drop_partitions and archive is not null
            then 'drop_partitions and archive exclude each other: a dropped partition is not copied'
        when drop_partitions and max_rows is not null
            then 'drop_partitions and max_rows exclude each other: a partition is dropped whole'
        when archive ~ '\.(jsonl|gz|csv)$' and not is_file then 'an archive file ends in .jsonl.gz: ' || archive
        when drop_partitions and column_name is null
            then 'drop_partitions needs column_name and older_than'
        when max_rows < 1 then 'max_rows must be at least 1'
        when batch not between 1 and 1000000 then 'batch must be between 1 and 1000000'
    end;
begin
    begin
        perform now() at time zone timezone;
    exception when invalid_parameter_value then
        wrong := coalesce(wrong, 'the server knows no timezone ' || timezone);
    end;
    if wrong is null and archive is not null and not is_file then
        begin
            archive_name := parse_ident(archive);
        exception when invalid_parameter_value then
            wrong := 'archive is no name of a table: ' || archive;
        end;
        if cardinality(archive_name) > 2 then
            wrong := 'archive names a table in another database: ' || archive;
        elsif cardinality(archive_name) = 1 then
            archive_name := archive_schema || archive_name;
        end if;
    end if;
    if wrong is not null then
        raise exception '%', wrong using errcode = '22023';
    end if;
    return jsonb_strip_nulls(jsonb_build_object(
        'table_name', table_name, 'condition', condition, 'column_name', column_name,
        'older_than', older_than::text, 'all_rows', nullif(all_rows, false),
        'archive_table', case when archive_name is not null then format('%I.%I', archive_name[1], archive_name[2]) end,
        'archive_file', case when is_file then archive end,
        'max_rows', max_rows, 'batch', batch, 'force', nullif(force, false),
        'drop_partitions', nullif(drop_partitions, false), 'vacuum', nullif(vacuum, false),
        'timezone', timezone, 'dry_run', nullif(dry_run, false),
        'search_path', case when condition is not null then to_jsonb(search_path) end));
end $$;

create function bulkhead.purge(
    table_name text,
    condition text default null,
    column_name text default null,
    older_than interval default null,
    all_rows boolean default null,
    archive text default null,
    max_rows bigint default null,
    batch int default null,
    force boolean default null,
    drop_partitions boolean default null,
    vacuum boolean default null,
    timezone text default null,
    dry_run boolean default null,
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
declare
    resolved text := bulkhead.resolve_table(table_name);
    args jsonb := bulkhead.purge_args(
        resolved, condition, column_name, older_than, all_rows, archive, pg_catalog.current_schema(),
        max_rows, batch, force, drop_partitions, vacuum, timezone, dry_run, pg_catalog.current_schemas(false));
begin
    if condition is not null then
        perform bulkhead.check_condition(resolved, condition);
    end if;
    return bulkhead.enqueue(
        'purge', args, queue, priority, run_at, run_in, max_attempts, unique_key, tags, host, notify, limits);
end $$;
comment on function bulkhead.purge is
    'Enqueues a purge of the rows of a table that a condition or their age picks, and returns the job''s id';

create function bulkhead.restore(
    id bigint,
    on_conflict text default 'error',
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
#variable_conflict use_variable
declare
    wrong text := case
        when id is null then 'the id of the purge is null'
        when on_conflict not in ('error', 'skip', 'fill', 'update', 'replace')
            then 'on_conflict must be error, skip, fill, update or replace, not ' || on_conflict
        when not exists (select from bulkhead.archive_block b where b.job = id)
            then format('job %s has archived nothing', id)
        when exists (
            select from bulkhead.job j
            where j.id = restore.id and j.state not in ('completed', 'cancelled', 'discarded'))
            then format('job %s has not ended: wait for its end or cancel it, then restore', id)
        when not exists (select from bulkhead.archive_block b where b.job = id and b.restored_by is null)
            then format('all that job %s archived is restored', id)
    end;
begin
    if wrong is not null then
        raise exception '%', wrong using errcode = '22023';
    end if;
    return bulkhead.enqueue(
        'restore', jsonb_build_object('job', id, 'on_conflict', on_conflict), queue, priority, run_at, run_in,
        max_attempts, unique_key, tags,
        -- Files are where they were written.
        coalesce((select b.host from bulkhead.archive_block b where b.job = id and b.file is not null limit 1), host),
        notify, limits);
end $$;
comment on function bulkhead.restore is
    'Enqueues the return of all that a purge archived, and returns the new job''s id';

-- The purge writes files: from here on it stays with the host that has them.
create function bulkhead.pin_job(job bigint) returns text
language sql set search_path = pg_catalog, pg_temp as $$
    update bulkhead.job j set host = d.host
    from bulkhead.daemon d where j.id = $1 and d.id = j.daemon
    returning d.host
$$;
