-- What a daemon's role needs, and no more.

create function bulkhead.grant_daemon(role name) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    execute format('grant usage on schema bulkhead to %I', role);
    execute format('grant select on all tables in schema bulkhead to %I', role);
    execute format('grant insert, update, delete on bulkhead.job, bulkhead.daemon to %I', role);
    execute format('grant insert, delete on bulkhead.request, bulkhead.job_limit, bulkhead.job_error, '
        'bulkhead.reject to %I', role);
    execute format('grant insert, update, delete on bulkhead.reject_file to %I', role);
    execute format('grant insert on bulkhead.change to %I', role);
    execute format('grant insert, update on bulkhead.archive_block to %I', role);
    execute format('grant insert, update on bulkhead.queue to %I', role);
    execute format('grant insert, update, delete on bulkhead.migration to %I', role);
    execute format('grant execute on all functions in schema bulkhead to %I', role);
    execute format(
        'revoke execute on function bulkhead.grant_daemon(name), bulkhead.grant_reader(name), '
        'bulkhead.record_change() from %I', role);
end $$;
