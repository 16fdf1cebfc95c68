-- The feed as readers see it: tokens, what has changed since one, and how long changes are kept.
--
-- A token is a snapshot. It names the transactions whose changes its reader has not seen: all from its end
-- on, and those below it that were still running when it was made. What is visible now and was not visible
-- then is what the reader has missed, in whatever order the writers committed.

create table bulkhead.feed (
    is_only    boolean primary key default true check (is_only),
    epoch      uuid not null default gen_random_uuid(),
    floor      xid8 not null default '2',
    keep       interval not null default '7 days' check (keep >= interval '0'),
    keep_bytes bigint not null default 1073741824 check (keep_bytes >= 0),
    excess     xid8
) with (fillfactor = 50, autovacuum_vacuum_threshold = 100, autovacuum_vacuum_scale_factor = 0);
comment on table bulkhead.feed is 'What is true of the feed as a whole; one row';
comment on column bulkhead.feed.epoch is 'Made with the schema: tokens of another one are expired';
comment on column bulkhead.feed.floor is 'The greatest xid of the changes that were removed';
comment on column bulkhead.feed.keep is 'How long changes are kept';
comment on column bulkhead.feed.keep_bytes is 'How many bytes of changes are kept';
comment on column bulkhead.feed.excess is 'Changes up to this xid were too many when they were measured last';
insert into bulkhead.feed default values;

-- What changes_since returns.
create type bulkhead.seen_change as (
    id        bigint,
    relation  text,
    operation text,
    ids       jsonb,
    job       bigint,
    at        timestamptz,
    token     text
);
comment on type bulkhead.seen_change is 'A change of the feed, with the token that names the place after it';

-- One more than a transaction id.
create function bulkhead.after_xid(xid xid8) returns xid8
language sql immutable parallel safe set search_path = pg_catalog, pg_temp as
$$ select ((xid::text)::numeric + 1)::text::xid8 $$;

-- Tells histories apart in which the same transaction ids mean other transactions: another installation, a
-- copy of the database, a standby that was promoted.
create function bulkhead.feed_epoch() returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    if pg_is_in_recovery() then
        raise exception 'the feed is read on the primary: this server is a standby'
            using errcode = '25006';
    end if;
    return left(md5(concat_ws('/',
        (select f.epoch from bulkhead.feed f),
        (select c.system_identifier from pg_control_system() c),
        (select d.oid from pg_database d where d.datname = current_database()),
        -- The timeline; the control file names a new one only after the next checkpoint.
        left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))), 16);
end $$;

-- The place of the statement's own snapshot: transactions from the end on are unseen, and of those below it
-- the ones that run. The end is cut behind the last change that is visible: a server that crashed hands out
-- the ids of transactions again that had left nothing, so nobody may take an id above it for seen. The
-- caller's own changes count as not there yet.
create function bulkhead.feed_place(out "end" xid8, out running xid8[])
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    snapshot pg_snapshot := pg_current_snapshot();
    own xid8 := pg_current_xact_id_if_assigned();
    top xid8 := pg_snapshot_xmax(snapshot);
begin
    -- Two short walks, so that none goes through the caller's own changes. What is not below the snapshot's
    -- end comes from another server's dump: to this one those ids are still in the future.
    "end" := bulkhead.after_xid(greatest(
        (select f.floor from bulkhead.feed f),
        (select c.xid from bulkhead.change c
         where c.xid < least(own, top) order by c.xid desc, c.id desc limit 1),
        (select c.xid from bulkhead.change c
         where c.xid > own and c.xid < top order by c.xid desc, c.id desc limit 1)));
    running := array(
        select r.xid from (
            select pg_snapshot_xip(snapshot) union select own) as r (xid)
        where r.xid < "end" order by r.xid);
end $$;

create function bulkhead.place_text("end" xid8, running xid8[]) returns text
language sql immutable set search_path = pg_catalog, pg_temp as
$$ select "end"::text || '-' || array_to_string(running, ',') $$;

create function bulkhead.current_token() returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
    select bulkhead.feed_epoch() || '.' || bulkhead.place_text(p."end", p.running)
    from bulkhead.feed_place() p
$$;
comment on function bulkhead.current_token is
    'The present place in the feed: changes_since it returns what becomes visible after this statement';

create function bulkhead.oldest_token() returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
    select bulkhead.feed_epoch() || '.' || bulkhead.place_text(bulkhead.after_xid(f.floor), '{}')
    from bulkhead.feed f
$$;
comment on function bulkhead.oldest_token is
    'The place before all changes that are kept: changes_since it returns them';

create function bulkhead.expire_token(reason text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception 'token expired: read the tables again, then start from now'
        using errcode = 'BH001', detail = reason,
              hint = 'take bulkhead.current_token() first, then read the tables, then go on from it';
end $$;

-- Reads a token. Inside a window that is being worked off, the new place is where the window ends, its rows
-- of transactions that began after the old place have ids from first_id to last_id, and those up to done are
-- read.
create function bulkhead.read_token(
    token text, out epoch text, out old_end xid8, out old_running xid8[],
    out new_end xid8, out new_running xid8[], out first_id bigint, out last_id bigint, out done bigint
)
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    part text[] := regexp_match(token,
        '^([0-9a-f]{16})\.(\d{1,20})-([\d,]*)(?:\.(\d{1,20})-([\d,]*)\.(\d*)-(\d*)-(\d+))?$');
begin
    if part is null then
        raise exception 'this is not a token: %', coalesce(left(token, 100), 'null')
            using errcode = '22023', hint = 'bulkhead.current_token() names the present place';
    end if;
    epoch := part[1];
    old_end := part[2]::xid8;
    old_running := string_to_array(part[3], ',')::xid8[];
    new_end := part[4]::xid8;
    new_running := string_to_array(part[5], ',')::xid8[];
    first_id := nullif(part[6], '')::bigint;
    last_id := nullif(part[7], '')::bigint;
    done := part[8]::bigint;
end $$;

-- Refuses a place whose reader could miss something, or that is none of this server's.
create function bulkhead.check_place("end" xid8, running xid8[], present_end xid8) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    own xid8 := pg_current_xact_id_if_assigned();
    floor xid8 := (select f.floor from bulkhead.feed f);
    last_seen xid8 := (("end"::text)::numeric - 1)::text::xid8;
begin
    if least("end", running[1]) <= floor then
        perform bulkhead.expire_token('changes that its reader has not seen were removed');
    elsif last_seen > floor and pg_visible_in_snapshot(last_seen, pg_current_snapshot())
        and last_seen is distinct from own
        and not exists (select from bulkhead.change c where c.xid = last_seen)
    then
        perform bulkhead.expire_token('the server has lost the last change that its reader saw');
    elsif "end" > present_end then
        -- A transaction with a snapshot from before the token was made does not see what the token saw.
        begin
            perform pg_xact_status(last_seen);
        exception when invalid_parameter_value then
            perform bulkhead.expire_token('it is from a future that this server does not know');
        end;
    end if;
end $$;

-- Stable, so that all that it reads is one snapshot: the changes, the floor and the next token.
--
-- The rows of a window come in the order of their ids: a change of a row that another transaction had changed
-- before has the higher id, since it waited for that one's lock. Its transaction id may be the lower one.
--
-- The planner is kept from walking through what the reader has seen: from scans of the whole table, and from
-- the primary key where a window is not known to be dense ("+ 0").
--
-- A page ends early behind 1 MiB of ids, so that long lists need no more memory than short ones.
create function bulkhead.changes_since(token text, relations text[] default null, max int default 1000)
returns setof bulkhead.seen_change
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set plan_cache_mode = force_custom_plan set jit = off
as $$
declare
    own xid8 := pg_current_xact_id_if_assigned();
    top xid8 := pg_snapshot_xmax(pg_current_snapshot());
    place record;
    present record;
    changes refcursor;
    this bulkhead.seen_change;
    next bulkhead.seen_change;
    inside text;
    returned int := 0;
    bytes bigint := 0;
begin
    if coalesce(max, 0) < 1 then
        raise exception 'max must be at least 1' using errcode = '22023';
    end if;
    place := bulkhead.read_token(token);
    if place.epoch <> bulkhead.feed_epoch() then
        perform bulkhead.expire_token(
            'it was made by another installation, in another database, or before a failover');
    end if;
    present := bulkhead.feed_place();
    perform bulkhead.check_place(place.old_end, place.old_running, present."end");

    if place.done is null then
        place.new_end := present."end";
        place.new_running := present.running;
        open changes for
            select w.id, w.relation, w.operation, w.ids, w.job, w.at, null::text
            from (
                select c.* from bulkhead.change c
                where c.xid = any (place.old_running) and c.xid < top
                union all
                select c.* from bulkhead.change c
                where c.xid >= place.old_end and c.xid < top) as w
            where w.xid is distinct from own and (relations is null or w.relation = any (relations))
            order by w.id + 0 limit max::bigint + 1;
    else
        perform bulkhead.check_place(place.new_end, place.new_running, present."end");
        open changes for
            select w.id, w.relation, w.operation, w.ids, w.job, w.at, null::text
            from (
                (select c.* from bulkhead.change c
                 where c.xid = any (place.old_running) and c.id > place.done
                   and c.xid < place.new_end and c.xid <> all (place.new_running)
                   and c.xid is distinct from own and (relations is null or c.relation = any (relations))
                 order by c.id + 0 limit max::bigint + 1)
                union all
                (select c.* from bulkhead.change c
                 where c.id > greatest(place.done, place.first_id - 1) and c.id <= place.last_id
                   and c.xid >= place.old_end
                   and c.xid < place.new_end and c.xid <> all (place.new_running)
                   and c.xid is distinct from own and (relations is null or c.relation = any (relations))
                 order by c.id limit max::bigint + 1)) as w
            order by w.id limit max::bigint + 1;
    end if;

    fetch changes into this;
    while this.id is not null loop
        fetch changes into next;
        if next.id is null then
            this.token := place.epoch || '.' || bulkhead.place_text(place.new_end, place.new_running);
            return next this;
            exit;
        end if;
        if inside is null then
            if place.done is null then
                select min(c.id), max(c.id) into place.first_id, place.last_id
                from bulkhead.change c
                where c.xid >= place.old_end and c.xid < top and c.xid is distinct from own;
            end if;
            inside := concat(
                place.epoch, '.', bulkhead.place_text(place.old_end, place.old_running),
                '.', bulkhead.place_text(place.new_end, place.new_running),
                '.', place.first_id, '-', place.last_id, '-');
        end if;
        this.token := inside || this.id;
        return next this;
        returned := returned + 1;
        bytes := bytes + coalesce(pg_column_size(this.ids), 0);
        exit when returned = max or bytes > 1048576;
        this := next;
    end loop;
    close changes;
end $$;
comment on function bulkhead.changes_since is
    'The changes that became visible since a token, of all relations or of some, at most max at once; each '
    'with the token that names the place after it';

-- Finds out which changes are too many, if any: all up to the xid that is noted.
create function bulkhead.measure_changes() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    limit_bytes bigint := (select f.keep_bytes from bulkhead.feed f);
    change record;
    bytes bigint := 0;
begin
    -- Room that was freed counts as well here, so only this much is cheap to rule out.
    if pg_total_relation_size('bulkhead.change') <= limit_bytes then
        return;
    end if;
    for change in
        select c.xid, pg_column_size(c.ids) as size from bulkhead.change c order by c.xid desc, c.id desc
    loop
        -- Beside its ids a change has a few short columns and its places in two indexes.
        bytes := bytes + coalesce(change.size, 0) + 150;
        if bytes > limit_bytes then
            update bulkhead.feed f set excess = change.xid;
            return;
        end if;
    end loop;
end $$;

-- Removes changes that are past their time or too many, the oldest first and at most 1,000 at once, and
-- raises the floor to the greatest xid among them. Only what was written before all transactions that run
-- now: so a token of this moment is never expired. Returns how many; 0 when there is nothing left to remove,
-- or another daemon is at it. It lends daemons the right to remove what is to be removed, and no other.
create function bulkhead.remove_changes() returns int
language plpgsql security definer
set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off
as $$
declare
    feed record;
    removed int;
    last xid8;
begin
    select f.* into feed from bulkhead.feed f for update skip locked;
    if not found then
        return 0;
    end if;
    with oldest as (
        select c.id, c.xid,
               bool_and(coalesce(c.xid <= feed.excess, false) or c.at < clock_timestamp() - feed.keep)
                   over (order by c.xid, c.id) as is_past
        from (
            select * from bulkhead.change c
            where c.xid < pg_snapshot_xmin(pg_current_snapshot())
            order by c.xid, c.id limit 1000) as c
    ), gone as (
        delete from bulkhead.change c using oldest o where c.id = o.id and o.is_past
        returning c.xid
    )
    select count(*), (array_agg(g.xid order by g.xid desc))[1] into removed, last from gone g;
    if last > feed.floor then
        update bulkhead.feed set floor = last;
    end if;
    return removed;
end $$;

-- What a reader of the feed needs, and no more.
create function bulkhead.grant_reader(role name) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    execute format('grant usage on schema bulkhead to %I', role);
    execute format('grant select on bulkhead.change, bulkhead.feed to %I', role);
    execute format(
        'grant execute on function bulkhead.current_token, bulkhead.oldest_token, bulkhead.changes_since, '
        'bulkhead.feed_epoch, bulkhead.feed_place, bulkhead.after_xid, bulkhead.place_text, '
        'bulkhead.expire_token, bulkhead.read_token, bulkhead.check_place, '
        'bulkhead.feed_table, bulkhead.feed_key, bulkhead.is_built_in to %I', role);
end $$;
comment on function bulkhead.grant_reader is 'Lets a role read the feed';
