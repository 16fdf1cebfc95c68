/// The shell process that runs a server for its owner, as the server's user.
///
/// It takes requests from its standard input, one at a time, and answers each with a line. The end
/// of the input is the end of the owner, be it by `kill -9`: then it stops the server and clears
/// away. It is a process of its own because nothing inside the owner survives that, and a shell
/// because every system that runs PostgreSQL has one.
let keeperScript = #"""
    set -u
    umask 077
    unset BULKHEAD_KEEPER
    bin=$1 home=$2 sock=$3 conf=$4

    refuse() { printf 'failed: %s\n' "$*"; exit 1; }

    # Nothing that is started here may hold the owner's socket or the lock.
    tool() { "$@" </dev/null >>log 2>&1 9>&-; }

    # A process of this cluster has its folder as working directory, an orphaned backend too.
    belongs() {
        [ "/proc/$1/cwd" -ef data ] && read -r name <"/proc/$1/comm" && [ "$name" = postgres ]
    } 2>/dev/null

    members() {
        for entry in /proc/[0-9]*; do
            if belongs "${entry#/proc/}"; then echo "${entry#/proc/}"; fi
        done
    }

    running() {
        [ -r data/postmaster.pid ] && read -r pid <data/postmaster.pid && belongs "$pid"
    }

    # A process that was just killed is still there for a moment, but does not answer (2 and more).
    answering() {
        running && { tool "$bin/pg_isready" -q -t 10 -h "$sock" -p 5432; [ $? -le 1 ]; }
    }

    # The interlock segment of a killed server outlives it; the key says that it is ours.
    remove_segment() {
        while read -r key id _ _ _ _ users _; do
            if [ "$key $id $users" = "$1 $2 0" ]; then ipcrm -m "$id"; fi
        done </proc/sysvipc/shm
    } 2>/dev/null

    # Ends all that is left of a server, and the traces that would stop the next one from starting:
    # where nobody collects dead processes (a container), the old id looks alive.
    clear_away() {
        segment=
        [ ! -r data/postmaster.pid ] || segment=$(sed -n 7p data/postmaster.pid)
        rounds=0
        while pids=$(members) && [ -n "$pids" ]; do
            kill -9 $pids 2>/dev/null
            rounds=$((rounds + 1))
            [ "$rounds" -le 500 ] || return 1
            sleep 0.02
        done
        [ -z "$segment" ] || remove_segment $segment
        rm -f data/postmaster.pid "$sock"/.s.PGSQL.*
    }

    # Under another name until it is complete, so that an interrupted one is made again.
    make_cluster() {
        rm -rf data.new
        locale=C
        case $(locale -a 2>/dev/null) in *C.utf8* | *C.UTF-8*) locale=C.UTF-8 ;; esac
        tool timeout 120 "$bin/initdb" -D data.new -U postgres -E UTF8 --locale="$locale" \
            --auth-local=trust --auth-host=scram-sha-256 $sync &&
            echo "include 'bulkhead.conf'" >>data.new/postgresql.conf &&
            mv data.new data
    }

    start() {
        ! answering || return 0
        clear_away || return
        if [ ! -e data/PG_VERSION ]; then
            step=initdb
            make_cluster || return
        fi
        step='pg_ctl start'
        printf '%s\n' "unix_socket_directories = '$sock'" "$conf" >data/bulkhead.conf
        tool "$bin/pg_ctl" start -s -w -t 90 -D data -l log
    }

    stop() {
        if answering; then
            tool "$bin/pg_ctl" stop -s -w -t 60 -m "$1" -D data
        else
            clear_away
        fi
    }

    finish() {
        trap '' HUP INT TERM
        stop "$last" || true
        clear_away
        if [ "$temporary" ]; then
            cd / && rm -rf "$home"
        else
            rmdir "$sock" 2>/dev/null
        fi
    }

    if [ -z "$home" ]; then
        temporary=yes last=immediate sync=--no-sync
        home=$(mktemp -d /tmp/bulkhead-XXXXXX 2>&1) || refuse "$home"
        sock=$home
    else
        temporary= last=fast sync=
        text=$(mkdir -p "$home" 2>&1) || refuse "$text"
        [ -O "$home" ] || refuse "$home belongs to another user"
        exec 9>>"$home/lock"
        # An owner that was just ended may still be clearing away.
        flock -w 5 9 || refuse "$home is in use by another process"
        mkdir "$sock" 2>/dev/null
        if [ -L "$sock" ] || [ ! -d "$sock" ] || [ ! -O "$sock" ]; then
            refuse "$sock, the place for the socket, belongs to another user"
        fi
        chmod 700 "$sock"
    fi
    text=$(cd "$home" 2>&1) || refuse "$text"
    cd "$home"
    [ ! -e log ] || mv -f log log.old
    : >log

    trap finish EXIT
    trap 'exit 1' HUP INT TERM
    # The owner may be gone when the answer comes; ignored would be inherited by the server.
    trap : PIPE

    # With the lock held, a server that still runs was left by a killed shell.
    stop fast

    echo "ok $sock"
    while read -r request; do
        step=$request
        case $request in
        start) start ;;
        'stop fast') stop fast ;;
        'stop immediate') stop immediate ;;
        kill) clear_away ;;
        *) false ;;
        esac && echo ok || echo "failed: $step"
    done
    """#
