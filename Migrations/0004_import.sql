-- Import as a caller sees it. The daemon reads the file and fills the table.

-- A table's name in full, as the caller's search_path finds it: so this one function pins none.
create function bulkhead.resolve_table(table_name text) returns text
language plpgsql stable as $$
declare
    found record;
begin
    begin
        select pg_catalog.format('%I.%I', n.nspname, c.relname) as name, c.relkind as kind into found
        from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where c.oid = pg_catalog.to_regclass(table_name);
    exception when invalid_name then
        raise exception 'this is no name of a table: %', table_name
            using errcode = '22023', hint = 'a name with blanks or capitals needs "double quotes"';
    end;
    if found.name is null then
        raise exception 'there is no table %', coalesce(table_name, '(table_name is missing)')
            using errcode = '42P01',
                  hint = 'write it as schema.table; a name with capitals needs "double quotes"';
    elsif found.kind not in ('r', 'p', 'v') then
        raise exception '% is not a table', found.name using errcode = '42809';
    end if;
    return found.name;
end $$;

-- The args of an import, refused at once where they are wrong.
create function bulkhead.import_args(
    table_name text,
    files text[],
    format text, delimiter text, quote text, escape text, null_text text[], skip int, header boolean,
    columns text[], map jsonb, key text[], on_conflict text, max_rejects bigint, batch int,
    encoding text, max_row_bytes int, timezone text, date_order text, atomic boolean, dry_run boolean
) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    -- What the names of the files say where the caller does not.
    implied text[] := case when format is null then array(
        select distinct case when f ~* '\.tsv(\.gz)?$' then 'tsv'
            when f ~* '\.(jsonl|ndjson)(\.gz)?$' then 'jsonl' else 'csv' end
        from unnest(files) f order by 1) end;
    wrong text := case
        when coalesce(cardinality(files), 0) = 0 then 'files is empty: name at least one file'
        when array_position(files, null) is not null or '' = any (files) then 'files holds an empty name'
        when format not in ('csv', 'tsv', 'jsonl') then 'format must be csv, tsv or jsonl, not ' || format
        when cardinality(implied) > 1 then 'the names of the files tell of several formats ('
            || array_to_string(implied, ', ') || '): say format, or import them one by one'
        when coalesce(format, implied[1]) = 'jsonl' and num_nonnulls(delimiter, quote, escape, null_text, header, columns) > 0
            then concat_ws(', ', case when delimiter is not null then 'delimiter' end,
                case when quote is not null then 'quote' end, case when escape is not null then 'escape' end,
                case when null_text is not null then 'null_text' end, case when header is not null then 'header' end,
                case when columns is not null then 'columns' end)
                || ': for delimited text only, and the files are JSON lines: leave it out, or say format'
        when octet_length(delimiter) <> 1 then 'delimiter must be one single-byte character'
        when octet_length(quote) <> 1 then 'quote must be one single-byte character'
        when octet_length(escape) <> 1 then 'escape must be one single-byte character'
        when array_position(null_text, null) is not null then 'null_text holds NULL'
        when skip < 0 then 'skip must not be negative'
        when cardinality(columns) = 0 then 'columns is empty: leave it out to take them from the header'
        when jsonb_typeof(map) <> 'object' or exists (
            select from jsonb_each(case when jsonb_typeof(map) = 'object' then map else '{}' end) e
            where jsonb_typeof(e.value) <> 'string')
            then 'map must be a JSON object of file names and column names'
        when cardinality(key) = 0 then 'key is empty: leave it out to take the primary key'
        when on_conflict not in ('error', 'skip', 'fill', 'update', 'replace')
            then 'on_conflict must be error, skip, fill, update or replace, not ' || on_conflict
        when max_rejects < 0 then 'max_rejects must not be negative'
        when batch not between 1 and 1000000 then 'batch must be between 1 and 1000000'
        -- Which names there are, only the daemon's system knows.
        when encoding !~ '^[A-Za-z0-9][A-Za-z0-9_.:-]*$' then 'encoding is no name of an encoding: ' || encoding
        when max_row_bytes not between 1 and 1073741824 then 'max_row_bytes must be between 1 and 1073741824'
        when date_order not in ('ymd', 'dmy', 'mdy') then 'date_order must be ymd, dmy or mdy, not ' || date_order
    end;
begin
    begin
        perform now() at time zone timezone;
    exception when invalid_parameter_value then
        wrong := coalesce(wrong, 'the server knows no timezone ' || timezone);
    end;
    if wrong is not null then
        raise exception '%', wrong using errcode = '22023';
    end if;
    return jsonb_strip_nulls(jsonb_build_object(
        'table_name', table_name, 'files', files, 'format', coalesce(format, nullif(implied[1], 'csv')), 'delimiter', delimiter,
        'quote', quote, 'escape', escape, 'null_text', null_text, 'skip', skip, 'header', header,
        'columns', columns, 'map', map, 'key', key, 'on_conflict', on_conflict,
        'max_rejects', max_rejects, 'batch', batch,
        'encoding', encoding, 'max_row_bytes', max_row_bytes, 'timezone', timezone, 'date_order', date_order,
        'atomic', atomic, 'dry_run', dry_run));
end $$;

create function bulkhead.import(
    table_name text,
    files text[],
    format text default null,
    delimiter text default null,
    quote text default null,
    escape text default null,
    null_text text[] default null,
    skip int default null,
    header boolean default null,
    columns text[] default null,
    map jsonb default null,
    key text[] default null,
    on_conflict text default null,
    max_rejects bigint default null,
    batch int default null,
    encoding text default null,
    max_row_bytes int default null,
    timezone text default null,
    date_order text default null,
    atomic boolean default null,
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
language sql as $$
    select bulkhead.enqueue(
        'import',
        bulkhead.import_args(
            bulkhead.resolve_table(table_name), files, format, delimiter, quote, escape, null_text, skip,
            header, columns, map, key, on_conflict, max_rejects, batch, encoding, max_row_bytes, timezone,
            date_order, atomic, dry_run),
        queue, priority, run_at, run_in, max_attempts, unique_key, tags, host, notify, limits)
$$;
comment on function bulkhead.import(
    text, text[], text, text, text, text, text[], int, boolean, text[], jsonb, text[], text, bigint, int,
    text, int, text, text, boolean, boolean, text, int, timestamptz, interval, int, text, text[], text, boolean,
    jsonb) is
    'Enqueues an import of files into a table and returns the job''s id';

-- The same for one file and one null text, so that plain literals do.
create function bulkhead.import(
    table_name text,
    files text,
    format text default null,
    delimiter text default null,
    quote text default null,
    escape text default null,
    null_text text default null,
    skip int default null,
    header boolean default null,
    columns text[] default null,
    map jsonb default null,
    key text[] default null,
    on_conflict text default null,
    max_rejects bigint default null,
    batch int default null,
    encoding text default null,
    max_row_bytes int default null,
    timezone text default null,
    date_order text default null,
    atomic boolean default null,
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
language sql as $$
    select bulkhead.import(
        table_name, array[files], format, delimiter, quote, escape,
        case when null_text is not null then array[null_text] end, skip, header, columns, map, key,
        on_conflict, max_rejects, batch, encoding, max_row_bytes, timezone, date_order, atomic, dry_run,
        queue, priority, run_at, run_in, max_attempts, unique_key, tags, host, notify, limits)
$$;

-- Moves a sequence past a value, never back. Only nextval moves it forward whatever others do at the same
-- time, so short ways are walked; over a long one nobody else gets in the moment of a setval.
create function bulkhead.advance_sequence(sequence regclass, value numeric) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    step bigint;
    target bigint;
    present bigint;
begin
    -- A column may take more than its sequence can give: then there is nothing left to collide with.
    -- NULL, where no row has a value, is not the least of anything.
    select s.seqincrement, floor(least(value, s.seqmax)) into step, target
    from pg_sequence s where s.seqrelid = sequence and value is not null;
    if target is null or step < 0 then
        return;
    end if;
    perform pg_advisory_xact_lock(1112884293, (sequence::oid::bigint & 2147483647)::int);
    present := pg_sequence_last_value(sequence);
    if target <= coalesce(present, 0) then
        return;
    end if;
    present := nextval(sequence);
    if target - present > 1000 * step then
        perform setval(sequence, target);
    else
        while present < target loop
            present := nextval(sequence);
        end loop;
    end if;
end $$;

-- The values that their types do not take, and why. Each value is the text of an array that holds it alone:
-- so the type's own input function reads it, as COPY does; a cast would cut what is too long. It asks only for
-- values that look odd, so the savepoint of each costs little.
create function bulkhead.refused_values(rows int[], columns int[], types text[], literals text[])
returns table (n int, col int, code text, message text)
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    for i in 1 .. cardinality(rows) loop
        begin
            execute format('select %L::%s', literals[i], types[i]);
        exception
            when data_exception or integrity_constraint_violation then
                get stacked diagnostics code = returned_sqlstate, message = message_text;
                n := rows[i];
                col := columns[i];
                return next;
        end;
    end loop;
end $$;
