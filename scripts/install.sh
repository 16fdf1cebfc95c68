#!/usr/bin/env bash
# install.sh PROGRAM DESTDIR PREFIX: puts the stripped program and its systemd unit in place.
set -euo pipefail

program=$1 prefix=$3 target=$2$3

# Built as a user, installed as root: sudo for this part alone, and only where it is needed.
as_owner() {
    local place=$target
    while [ ! -e "$place" ]; do place=$(dirname "$place"); done
    if [ -w "$place" ]; then "$@"; else sudo "$@"; fi
}

unit=$(mktemp)
trap 'rm -f "$unit"' EXIT
sed "s|/usr/local/bin/|$prefix/bin/|" "$(dirname "$0")/../packaging/bulkhead.service" >"$unit"
as_owner install -D -m 755 --strip "$program" "$target/bin/bulkhead"
as_owner install -D -m 644 "$unit" "$target/lib/systemd/system/bulkhead.service"
echo "installed $target/bin/bulkhead and $target/lib/systemd/system/bulkhead.service"
