#!/usr/bin/env bash
# Installs what building and testing need and this system lacks; says nothing if all is there.
set -euo pipefail

needed_swift=6.2

fail() {
    echo "bootstrap: $*" >&2
    exit 1
}

# Succeeds if version $1 is at least version $2.
at_least() {
    [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]
}

check_swift() {
    command -v swift >/dev/null ||
        fail "swift is not on the PATH; install Swift $needed_swift or newer: https://www.swift.org/install"
    local found
    found=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9.]*\).*/\1/p' | head -n 1)
    at_least "${found:-0}" "$needed_swift" ||
        fail "Swift $needed_swift or newer is needed, found ${found:-none}: https://www.swift.org/install"
}

# The same places as the code that starts a server: see Sources/PostgresServer/Binaries.swift.
has_server() {
    [ -n "${BULKHEAD_PG_BIN:-}" ] && return
    local bin
    for bin in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/local/pgsql/bin \
        "$("${PG_CONFIG:-pg_config}" --bindir 2>/dev/null || true)"; do
        [ -x "$bin/initdb" ] && [ -x "$bin/postgres" ] && return
    done
    command -v initdb >/dev/null && command -v postgres >/dev/null
}

# The packages that are missing, by their Debian names.
missing() {
    command -v pkg-config >/dev/null || echo pkg-config
    pkg-config --exists libpq 2>/dev/null || echo libpq-dev
    pkg-config --exists zlib 2>/dev/null || echo zlib1g-dev
    has_server || echo postgresql
}

# Runs as root: bootstrap.sh --install PACKAGE...
install_packages() {
    # A server for tests must not bring a cluster that runs from now on, on the usual port too.
    drop_in=/etc/postgresql-common/createcluster.d/bulkhead-bootstrap.conf
    log=$(mktemp)
    trap 'rm -f "$drop_in" "$log"' EXIT
    mkdir -p "${drop_in%/*}"
    echo 'create_main_cluster = false' >"$drop_in"
    export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
    local apt=(apt-get -qq -o DPkg::Lock::Timeout=300)
    {
        # One unreachable source among many need not matter to what is installed.
        "${apt[@]}" update || echo "apt-get update failed"
        "${apt[@]}" install -y --no-install-recommends "$@"
    } >"$log" 2>&1 </dev/null || {
        tail -n 15 "$log" >&2
        fail "apt-get could not install $*"
    }
}

if [ "${1:-}" = --install ]; then
    shift
    install_packages "$@"
    exit
fi

check_swift
mapfile -t packages < <(missing)
[ "${#packages[@]}" -gt 0 ] || exit 0

command -v apt-get >/dev/null ||
    fail "install by hand, under this system's names: libpq and zlib with their headers," \
        "pkg-config, a PostgreSQL server (missing here: ${packages[*]})"
echo "bootstrap: installing ${packages[*]}"
if [ "$(id -u)" = 0 ]; then
    bash "$0" --install "${packages[@]}"
elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    # Without a terminal sudo could only wait for a password that nobody types.
    sudo bash "$0" --install "${packages[@]}"
else
    fail "that needs root: apt-get install --no-install-recommends ${packages[*]}"
fi

mapfile -t packages < <(missing)
[ "${#packages[@]}" -eq 0 ] || fail "still missing after the installation: ${packages[*]}"
