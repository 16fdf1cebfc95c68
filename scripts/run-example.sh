#!/usr/bin/env bash
# Shows what Bulkhead is for: a daemon imports a month of real flights, is killed half-way, and every
# row is there exactly once. Needs nothing but the build: the database is a private one, in which the
# script runs itself, and which is gone at its end.
set -euo pipefail

cd "$(dirname "$0")/.."
if [ "${1:-}" != --inside ]; then
    exec "$(swift build --show-bin-path)/private-server" bash "$0" --inside
fi

file=examples/flights-2013-01.csv.gz
log=$(mktemp)
daemon=

bold='' plain=''
if [ -t 1 ]; then bold=$'\033[1m' plain=$'\033[0m'; fi
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
sql() { psql -XAtq -v ON_ERROR_STOP=1 -c "$1"; }

clear_away() {
    [ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
    wait
    rm -f "$log"
}
trap clear_away EXIT
trap 'exit 130' INT TERM HUP

start_daemon() {
    bulkhead worker --import-root examples >>"$log" 2>&1 &
    daemon=$!
}

rows_done() {
    bulkhead show "$1" --json | sed -n 's/.*"rows_done": *\([0-9]*\).*/\1/p'
}

say "A database: the schema of Bulkhead, and a table for flights"
bulkhead setup
sql "create table public.flights (
    year int, month int, day int,
    dep_time int, sched_dep_time int, dep_delay int,
    arr_time int, sched_arr_time int, arr_delay int,
    carrier text, flight int, tailnum text, origin text, dest text,
    air_time int, distance int, hour int, minute int, time_hour timestamptz)"
total=$(($(gzip -dc "$file" | wc -l) - 1))

say "A daemon, and a job for it: $file, $total rows, 100 to a batch"
start_daemon
job=$(bulkhead import public.flights "$file" --null NA --batch 100)
rows=0
while [ "$rows" -le $((total / 2)) ]; do
    # A daemon that ended by itself would be waited for in vain.
    kill -0 "$daemon" 2>/dev/null || { cat "$log" >&2; exit 1; }
    rows=$(rows_done "$job")
    printf '  %6d rows committed\n' "$rows"
done

say "kill -9 $daemon, half-way"
kill -9 "$daemon"
{ wait "$daemon" || true; } 2>/dev/null
printf '  the job says %6d rows\n' "$(rows_done "$job")"
printf '  the table has %5d rows\n' "$(sql 'select count(*) from public.flights')"

say "Another daemon takes the job over where the last batch ended"
start_daemon
bulkhead wait "$job" || { cat "$log" >&2; exit 1; }
bulkhead show "$job"
counts=$(sql "select count(*) || ' ' || count(distinct flights) from public.flights")
echo "  rows in the file, in the table, different from each other: $total $counts"
[ "$counts" = "$total $total" ] || { echo "run-example: rows are lost or doubled" >&2; exit 1; }

say "To try next"
cat <<'EOF'
  make test                            every test, against a PostgreSQL of its own
  .build/debug/private-server bash     a shell with an empty database; in it: bulkhead setup
  .build/debug/bulkhead --help         all that it can do

  With your own database: export BULKHEAD_DATABASE_URL=postgresql://USER@HOST/DATABASE
EOF
