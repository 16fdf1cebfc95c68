#!/usr/bin/env bash
# Builds this package and runs it from nothing: a private PostgreSQL, a table that an import fills, and the
# program, which shows the worst delays as they come; then what an application changes in it.
set -euo pipefail

cd "$(dirname "$0")"
root=../..
if [ "${1:-}" != --inside ]; then
    swift build
    swift build --package-path "$root" --product bulkhead
    swift build --package-path "$root" --product private-server
    exec "$(swift build --package-path "$root" --show-bin-path)/private-server" \
        bash ./run.sh --inside "$(swift build --show-bin-path)/live-table"
fi

live_table=$2
out=$(mktemp)
trap 'rm -f "$out"' EXIT
sql() { psql -XAtq -v ON_ERROR_STOP=1 -c "$1"; }
# Waits until the program has written a line, and fails when it ends without.
wait_for() {
    until grep -q "$1" "$out"; do kill -0 "$shown" && sleep 0.05; done
}
show() {
    : >"$out"
    "$live_table" flights --columns 'carrier, flight, dest, arr_delay' \
        --where 'arr_delay > 400' --order 'arr_delay desc' "$@" >>"$out" &
    shown=$!
    wait_for '^= '
}

bulkhead setup
sql "create table public.flights (
    id int generated always as identity primary key,
    year int, month int, day int,
    dep_time int, sched_dep_time int, dep_delay int,
    arr_time int, sched_arr_time int, arr_delay int,
    carrier text, flight int, tailnum text, origin text, dest text,
    air_time int, distance int, hour int, minute int, time_hour timestamptz)"
job=$(bulkhead import flights ../flights-2013-01.csv.gz --null NA --batch 2000)

echo "While job $job imports flights, the table of the worst delays grows, and ends with it:"
show --until-job "$job"
bulkhead worker --import-root .. --drain 2>/dev/null
wait "$shown"
cat "$out"
# What came and did not go is what is there.
[ "$(($(grep -c '^+' "$out") - $(grep -c '^-' "$out" || true)))" = \
    "$(sql 'select count(*) from flights where arr_delay > 400')" ]

echo "Tracked, it shows what anyone does; here psql delays a flight and forgets another:"
sql "select bulkhead.track('flights')" >/dev/null
show
sql "begin;
    update flights set arr_delay = 1500 where id = 7;
    delete from flights where arr_delay = 1272;
    notify bulkhead_change; commit"
wait_for '1500$'
kill -INT "$shown"
status=0
wait "$shown" || status=$?
[ "$status" = 130 ]
sed '1,/^=/d' "$out"
