import Foundation
import Postgres
import PostgresServer

/// Eight migration files on a table while others read and write it: how long the longest of their statements takes.
struct LiveMigrationBenchmark {
    let program: String
    let flights: String
    private let rows = setting("BULKHEAD_BENCH_ROWS", 3_000_000)

    private static let files = [
        "0001_columns.sql": """
        alter table flights add column km int, add column route text;
        """,
        "0002_km.sql": """
        -- bulkhead: transaction
        alter table flights alter column km set default 0;
        -- bulkhead: backfill flights until km is not null
        update flights set km = distance * 1.609 where km is null and {batch};
        """,
        "0003_route.sql": """
        -- bulkhead: backfill flights until route is not null
        update flights set route = concat_ws('-', origin, dest) where route is null and {batch};
        """,
        "0004_index.sql": """
        -- bulkhead: concurrently
        create index flights_route on flights (carrier, flight);
        """,
        "0005_not_null.sql": """
        alter table flights add constraint km_is_there check (km is not null) not valid;
        -- bulkhead: transaction
        alter table flights validate constraint km_is_there;
        -- bulkhead: transaction
        alter table flights alter column km set not null;
        alter table flights drop constraint km_is_there;
        """,
        "0006_planes.sql": """
        alter table flights add constraint flights_plane foreign key (tailnum) references planes not valid;
        -- bulkhead: transaction
        alter table flights validate constraint flights_plane;
        """,
        "0007_expand.sql": """
        alter table flights add column destination text;
        create function both_names() returns trigger language plpgsql as $$
        begin
            if new.destination is null or tg_op = 'UPDATE' and new.dest is distinct from old.dest
            then new.destination := new.dest; else new.dest := new.destination; end if;
            return new;
        end $$;
        create trigger both_names before insert or update on flights for each row execute function both_names();
        -- bulkhead: backfill flights until destination is not null or dest is null
        update flights set destination = dest where destination is null and {batch};
        """,
        "0008_contract.sql": """
        drop trigger both_names on flights;
        drop function both_names();
        alter table flights drop column dest;
        """,
    ]

    /// Reads, changes and adds rows, by statements that stand for themselves.
    private static func load(_ rows: Int) -> String {
        """
        \\set id random(1, \(rows))
        select distance, carrier from flights where id = :id;
        update flights set dep_delay = dep_delay + 1 where id = :id;
        insert into flights (id, distance, carrier, origin, tailnum) values (nextval('added'), 100, 'UA', 'JFK', null);
        """
    }

    func run() async throws {
        try await FlightsServer.with(program) { server in
            print("live migration: 8 files on \(rows) flights, pgbench -c 4 -R 200 beside them")
            try await server.makeTemplate("flights", rows: rows, from: flights)
            try server.psql(
                """
                create sequence added start 100000000;
                create table planes (tailnum text primary key);
                insert into planes select distinct tailnum from flights where tailnum is not null;
                """,
                in: "flights"
            )
            let quiet = try measure("sleep 20", server, files: [:])
            let busy = try measure(
                "\"$PROGRAM\" worker --drain --log-level warning",
                server,
                files: Self.files
            )
            print(
                "  beside nothing: longest statement \(figure(quiet.longest, 0)) ms of \(quiet.count)"
            )
            print(
                "live migration: \(figure(busy.seconds, 1)) s; longest statement of the load "
                    + "\(figure(busy.longest, 0)) ms of \(busy.count), goal under 500 ms; p99 \(figure(busy.p99, 1)) ms; "
                    + "\(busy.failed) failed"
            )
        }
    }

    private struct Seen {
        let longest: Double
        let p99: Double
        let count: Int
        let failed: Int
        let seconds: Double
    }

    private func measure(_ work: String, _ server: FlightsServer, files: [String: String]) throws
        -> Seen
    {
        try server.withCopy(of: "flights") { database in
            if !files.isEmpty { try server.enqueueMigration(files, in: database) }
            let script = server.folder.appending(path: "load.sql").path()
            // Three files, so that each statement is a transaction of its own and is logged as such.
            for (n, statement) in Self.load(rows).split(separator: "\n").dropFirst().enumerated() {
                try "\\set id random(1, \(rows))\n\(statement)\n".write(
                    toFile: "\(script).\(n)",
                    atomically: true,
                    encoding: .utf8
                )
            }
            let run = """
                cd "$FOLDER"; rm -f live_log.* live_out
                "$BIN/pgbench" -n -c 4 -R 200 -T 3600 -f load.sql.0 -f load.sql.1 -f load.sql.2 -l \
                --log-prefix=live_log "$URL" >live_out 2>&1 & load=$!
                sleep 2; begin=$(date +%s.%N); \(work); status=$?; echo "$begin $(date +%s.%N)" >live_times
                # Its own alarm, at which it ends as planned and writes what it has measured.
                kill -ALRM $load; wait $load; exit $status
                """
            let url = server.server.url(database: database)
            _ = try Child.run(
                "sh",
                ["-c", run],
                environment: [
                    "FOLDER": server.folder.path(), "BIN": server.server.binDirectory, "URL": url,
                    "PROGRAM": program, "BULKHEAD_DATABASE_URL": url,
                ]
            )
            if !files.isEmpty {
                let state: String = try server.session(database).query(
                    "select state from bulkhead.job"
                ).required(0, 0)
                guard state == "completed" else { throw NotMeasured("the migration is \(state)") }
            }
            return try seen(server)
        }
    }

    private func seen(_ server: FlightsServer) throws -> Seen {
        let times = try text("live_times", server).split(whereSeparator: \.isWhitespace).compactMap
        {
            Double($0)
        }
        guard times.count == 2 else { throw NotMeasured("no times of the load") }
        let files = try FileManager.default.contentsOfDirectory(atPath: server.folder.path())
            .filter { $0.hasPrefix("live_log.") }
        let latencies = try files.flatMap { file in
            try text(file, server).split(separator: "\n").compactMap { line -> Double? in
                // client, number, microseconds, script, epoch, its microseconds, lag behind the schedule
                let fields = line.split(separator: " ").compactMap { Double($0) }
                guard fields.count >= 7, fields[4] + fields[5] / 1e6 >= times[0] else { return nil }
                return (fields[2] - fields[6]) / 1000
            }
        }
        let failed = try text("live_out", server).split(separator: "\n").filter {
            $0.contains("aborted") || $0.contains("ERROR")
        }
        return Seen(
            longest: latencies.max() ?? 0,
            p99: latencies.percentile(0.99),
            count: latencies.count,
            failed: failed.count,
            seconds: times[1] - times[0]
        )
    }

    private func text(_ name: String, _ server: FlightsServer) throws -> String {
        try String(contentsOf: server.folder.appending(path: name), encoding: .utf8)
    }
}
