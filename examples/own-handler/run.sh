#!/usr/bin/env bash
# Builds this package and runs it from nothing: a private PostgreSQL, two tables with real flights, the daemon,
# and a job that the command line adds and one that SQL adds.
set -euo pipefail

cd "$(dirname "$0")"
root=../..
if [ "${1:-}" != --inside ]; then
    swift build
    swift build --package-path "$root" --product bulkhead
    swift build --package-path "$root" --product private-server
    exec "$(swift build --package-path "$root" --show-bin-path)/private-server" \
        bash ./run.sh --inside "$(swift build --show-bin-path)/carrier-daemon"
fi

daemon=$2
sql() { psql -XAtq -v ON_ERROR_STOP=1 -c "$1"; }

bulkhead setup
psql -Xq -v ON_ERROR_STOP=1 -f tables.sql
gzip -dc ../flights-2013-01.csv.gz |
    psql -Xq -v ON_ERROR_STOP=1 -c "copy public.flights from stdin (format csv, header, null 'NA')"

work_off() {
    "$daemon" --drain
    sql "select 'job ' || job || ' ' || operation || ' ' || ids from bulkhead.change order by id"
    # A daemon drains whether its jobs completed or failed.
    sql "select 'job ' || id || ' is ' || state from bulkhead.job where state <> 'completed'" | { ! grep .; }
}

echo "A job from the command line; the daemon works it off, and says which rows it changed:"
bulkhead enqueue refresh-carriers '{"batch": 6}' --any-host
work_off
psql -X -c "select * from carrier_summary order by flights desc limit 5"

echo "Some flights go, and SQL adds a job: readers hear of the carriers that this changed."
sql "delete from flights where carrier in ('HA', 'OO') and day > 20"
sql "truncate bulkhead.change"
sql "select bulkhead.enqueue('refresh-carriers', '{\"batch\": 6}', tags => '{from-sql}')"
work_off
bulkhead jobs
