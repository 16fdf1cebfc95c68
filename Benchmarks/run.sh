#!/usr/bin/env bash
# Measures Bulkhead beside a baseline in the same run, on a private PostgreSQL with its usual durability.
#   Benchmarks/run.sh [import|queue|purge|side-load|backfill|live-migration|memory]...     default: import and queue; the others take minutes
#   BULKHEAD_BENCH_ROWS, BULKHEAD_BENCH_ROUNDS, BULKHEAD_BENCH_JOBS, BULKHEAD_BENCH_MIB change the sizes;
#   BULKHEAD_BENCH_FSYNC=0 lets the queue's server not wait for the disk, which shows what the processors allow.
set -euo pipefail
cd "$(dirname "$0")/.."
swift build -c release --static-swift-stdlib --product bulkhead
swift build -c release --static-swift-stdlib --product bulkhead-benchmarks
bin=$(swift build -c release --show-bin-path)
exec "$bin/bulkhead-benchmarks" "$bin/bulkhead" examples/flights-2013-01.csv.gz "$@"
