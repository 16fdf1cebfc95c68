import BulkheadTesting
import Foundation
import Postgres
import PostgresServer
import Testing

/// Whatever dies in the middle of a migration, its schema and rows end as if nothing had.
///
/// `BULKHEAD_KILL_ROWS` and `BULKHEAD_KILLS` make the runs longer.
@Suite struct MigrationKillTests {
    @Test(arguments: [true, false])
    func killedAtRandomMoments(killsDaemon: Bool) async throws {
        let undisturbed = try await MigrationUnderFire.with { run in
            let daemon = try run.startDaemon()
            return try await run.finish(daemon)
        }
        let disturbed = try await MigrationUnderFire.with { run in
            var daemon = try run.startDaemon()
            for moment in run.randomMoments() {
                try await run.waitUntil(reached: moment)
                if killsDaemon {
                    daemon.send(SIGKILL)
                    _ = await daemon.end()
                    daemon = try run.startDaemon()
                } else {
                    try await run.terminateWorkers()
                }
            }
            return try await run.finish(daemon)
        }
        #expect(disturbed == undisturbed)
    }

    @Test func postmasterKilledAndStartedAgain() async throws {
        let undisturbed = try await MigrationUnderFire.with { run in
            try await run.finish(try run.startDaemon())
        }
        let server = try await PostgresServer.start(.init(fsync: true))
        do {
            let database = try await TestDatabase.onServer(server.url())
            let disturbed = try await MigrationUnderFire.with(database) { run in
                let daemon = try run.startDaemon()
                for moment in run.randomMoments().prefix(4) {
                    try await run.waitUntil(reached: moment)
                    try await server.kill()
                    try await server.start()
                }
                return try await run.finish(daemon)
            }
            #expect(disturbed == undisturbed)
            await server.close()
        } catch {
            await server.close()
            throw error
        }
    }
}

/// A directory of many kinds of steps, some of which count how often they were done.
struct MigrationUnderFire {
    private let place: Workplace

    /// What a migration left.
    struct Outcome: Equatable, Sendable {
        let schema: [String]
        let rows: [[String?]]
        /// How many ids of each table the feed holds, and how many different ones.
        let published: [[String?]]
    }

    /// Enqueues the directory in a database, one of its own unless given.
    static func with(
        _ database: TestDatabase? = nil,
        _ body: (MigrationUnderFire) async throws -> Outcome
    ) async throws -> Outcome {
        var outcome: Outcome?
        try await Workplace.with { own in
            let place =
                database.map { database in
                    Workplace(
                        database: database,
                        folder: own.folder,
                        program: Program(database: database, directory: own.folder)
                    )
                } ?? own
            try await place.database.run(
                """
                create table planes (tail text primary key);
                insert into planes select 't' || n from generate_series(0, 99) n;
                create table flights (id bigint primary key, miles int not null, tail text, n int not null default 0);
                insert into flights (id, miles, tail)
                    select n, n % 3000, 't' || n % 100 from generate_series(1, \(KillTests.rows)) n
                """
            )
            try FileManager.default.createDirectory(
                at: place.folder.appending(path: "migrations"),
                withIntermediateDirectories: true
            )
            for (name, text) in files { try place.write(text, to: "migrations/\(name)") }
            let enqueued = try await place.program.run(
                "migrate",
                "migrations",
                "--max-attempts",
                "100"
            )
            try #require(enqueued.status == 0, "\(enqueued.errors)")
            outcome = try await body(MigrationUnderFire(place: place))
        }
        return try #require(outcome)
    }

    private static let files = [
        (
            "1_columns.sql",
            "alter table flights add km numeric, add code text;\ncreate table log (step text);"
        ),
        (
            "2_km.sql",
            "-- bulkhead: backfill flights batch=500\nupdate flights set km = miles * 1.609, n = n + 1 where {batch};"
        ),
        (
            "3_code.sql",
            """
            insert into log values ('before');
            -- bulkhead: backfill flights batch=700 until code is not null
            update flights f set code = f.tail || '-' || f.id, n = n + 1 where {batch};
            -- bulkhead: transaction
            insert into log values ('after');
            """
        ),
        (
            "4_indexes.sql",
            """
            -- bulkhead: concurrently
            create index on flights (tail);
            create unique index concurrently flights_code on flights (code);
            insert into log values ('indexed');
            create index on flights (km);
            """
        ),
        (
            "5_not_null.sql",
            """
            alter table flights add constraint km_there check (km is not null) not valid;
            -- bulkhead: transaction
            alter table flights validate constraint km_there;
            -- bulkhead: transaction
            alter table flights alter km set not null;
            alter table flights drop constraint km_there;
            """
        ),
        (
            "6_planes.sql",
            """
            alter table flights add constraint flights_plane foreign key (tail) references planes not valid;
            -- bulkhead: transaction
            alter table flights validate constraint flights_plane;
            """
        ),
        (
            "7_legs.sql",
            """
            create table legs (flight bigint not null, code text not null);
            -- bulkhead: backfill flights batch=600
            insert into legs select f.id, f.code from flights f where {batch};
            -- bulkhead: concurrently
            create index on legs (flight);
            vacuum legs;
            """
        ),
        (
            "8_rename.sql",
            """
            alter table flights add distance_km numeric;
            -- bulkhead: backfill flights batch=900
            update flights set distance_km = km, n = n + 1 where {batch};
            -- bulkhead: transaction
            alter table flights drop km;
            insert into log values ('renamed');
            """
        ),
    ]

    func startDaemon() throws -> Running {
        try place.program.start(["worker", "--log-level", "debug"])
    }

    /// What counts as progress: rows, and steps as many rows.
    private static let reached: SQL = """
        (select coalesce(sum(rows) + 3000 * count(*) filter (where state = 'applied'), 0) from bulkhead.migration)
        """

    func randomMoments() -> [Int] {
        let end = 4 * KillTests.rows + 3000 * 16
        return (0..<KillTests.kills).map { _ in .random(in: 0..<end) }.sorted()
    }

    func waitUntil(reached moment: Int) async throws {
        try await place.database.waitUntil(
            "select state = 'completed' or \(Self.reached) >= \(moment) from bulkhead.job",
            within: .seconds(120)
        )
    }

    func terminateWorkers() async throws {
        _ = try await place.database.rows(
            """
            select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and application_name like 'bulkhead worker%'
            """
        )
    }

    /// Waits for the job's end, stops the daemon, and looks at what there is.
    func finish(_ daemon: Running) async throws -> Outcome {
        do {
            try await place.database.waitUntil(
                "select state in ('completed', 'discarded') from bulkhead.job",
                within: .seconds(120)
            )
        } catch {
            Issue.record("\(error)\n\(try daemon.errors().suffix(4000))")
        }
        #expect(
            try await place.database.rows(
                "select state, last_error from bulkhead.job_status where state <> 'completed'"
            )
                == []
        )
        daemon.send(SIGTERM)
        _ = await daemon.end()
        return Outcome(
            schema: try await schema(),
            rows: try await place.database.rows(
                """
                select 'flights', count(*)::text, md5(string_agg(f::text, ',' order by f.id)) from flights f
                union all select 'legs', count(*)::text, md5(string_agg(l::text, ',' order by l.flight)) from legs l
                union all select 'log', count(*)::text, string_agg(g.step, ',' order by g.step) from log g
                """
            ),
            published: try await place.database.rows(
                """
                select relation, count(k.key), count(distinct k.key) from bulkhead.change c
                left join lateral jsonb_array_elements_text(c.ids) as k (key) on true group by 1 order by 1
                """
            ).filter { $0[0] == "public.flights" }
        )
    }

    /// The lines of pg_dump, without those that are random.
    private func schema() async throws -> [String] {
        let dump = try await place.program.shell(
            "\"${BULKHEAD_PG_BIN:+$BULKHEAD_PG_BIN/}pg_dump\" -s -N bulkhead \"$BULKHEAD_DATABASE_URL\""
        )
        try #require(dump.status == 0, "\(dump.errors)")
        return dump.output.split(separator: "\n").map(String.init).filter {
            !$0.contains("restrict ")
        }
    }
}
