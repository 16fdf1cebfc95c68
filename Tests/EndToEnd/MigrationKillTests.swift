import BulkheadTesting
import Foundation
import Postgres
import PostgresServer
import Testing

/// Whatever dies in the middle of a migration, its schema and rows end as if nothing had.
///
/// `BULKHEAD_KILL_ROWS` and `BULKHEAD_KILLS` make the runs longer.
@Suite struct MigrationKillTests {
    @Test func daemonKilledAtRandomMoments() async throws {
        try await expectTheSame { run in try await run.fire.killDaemons(at: run.randomMoments()) }
    }

    @Test func serverProcessesOfWorkersTerminatedAtRandomMoments() async throws {
        try await expectTheSame { run in
            let daemon = try run.fire.startDaemon()
            try await run.fire.terminateWorkers(at: run.randomMoments())
            return daemon
        }
    }

    @Test func postmasterKilledAndStartedAgain() async throws {
        let server = try await PostgresServer.start(.init(fsync: true))
        do {
            try await expectTheSame(on: server) { run in
                let daemon = try run.fire.startDaemon()
                try await run.fire.kill(server, at: run.randomMoments(4))
                return daemon
            }
            await server.close()
        } catch {
            await server.close()
            throw error
        }
    }

    @Test func daemonFrozenForLongerThanItsLeaseWhileAnotherTakesOver() async throws {
        try await expectTheSame { run in
            let first = try run.fire.startDaemon("--lease", "1")
            let second = try run.fire.startDaemon("--lease", "1")
            try await run.fire.freeze(first, second, at: run.randomMoments(3))
            try await run.waitForEnd(first)
            second.send(SIGTERM)
            _ = await second.end()
            return first
        }
    }

    /// Compares what is left when nothing dies and when something does.
    private func expectTheSame(
        on server: PostgresServer? = nil,
        under fire: (MigrationUnderFire) async throws -> Running
    ) async throws {
        let undisturbed = try await MigrationUnderFire.outcome { try $0.fire.startDaemon() }
        let disturbed = try await MigrationUnderFire.outcome(on: server, fire)
        #expect(disturbed == undisturbed)
    }
}

/// A directory of many kinds of steps, some of which count how often they were done.
struct MigrationUnderFire {
    let fire: UnderFire

    /// What a migration left.
    struct Outcome: Equatable, Sendable {
        let schema: [String]
        let rows: [[String?]]
        /// How many ids of the table of flights the feed holds, and how many different ones.
        let published: [[String?]]
    }

    /// Runs the directory, by a daemon that the closure returns, and looks at what it left.
    static func outcome(
        on server: PostgresServer? = nil,
        _ body: (MigrationUnderFire) async throws -> Running
    ) async throws -> Outcome {
        var outcome: Outcome?
        try await UnderFire.with(on: server) { fire in
            var fire = fire
            // Rows, and steps as many rows.
            fire.reached = """
                (select coalesce(sum(m.rows) + 3000 * count(*) filter (where m.state = 'applied'), 0)
                 from bulkhead.migration m)
                """
            try await fire.database.run(setUp)
            for (name, text) in files {
                try text.write(
                    to: fire.folder.appending(path: name),
                    atomically: true,
                    encoding: .utf8
                )
            }
            try await fire.enqueue("migrate", ".", "--max-attempts", "100")
            let run = MigrationUnderFire(fire: fire)
            let daemon = try await body(run)
            try await run.waitForEnd(daemon)
            daemon.send(SIGTERM)
            _ = await daemon.end()
            outcome = try await run.outcome()
        }
        return try #require(outcome)
    }

    private static let setUp = """
        create table planes (tail text primary key);
        insert into planes select 't' || n from generate_series(0, 99) n;
        create table flights (id bigint primary key, miles int not null, tail text, n int not null default 0);
        insert into flights (id, miles, tail)
            select n, n % 3000, 't' || n % 100 from generate_series(1, \(UnderFire.rows)) n
        """

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

    func randomMoments(_ count: Int = UnderFire.kills) -> [Int] {
        UnderFire.randomMoments(count, below: 4 * UnderFire.rows + 3000 * 16)
    }

    func waitForEnd(_ daemon: Running) async throws {
        do {
            try await fire.database.waitUntil(
                "select state in ('completed', 'discarded') from bulkhead.job",
                within: .seconds(120)
            )
        } catch {
            Issue.record("\(error)\n\(try daemon.errors().suffix(4000))")
        }
        let failures = try await fire.database.rows(
            "select state, last_error from bulkhead.job_status where state <> 'completed'"
        )
        #expect(failures == [])
    }

    private func outcome() async throws -> Outcome {
        Outcome(
            schema: try await schema(),
            rows: try await fire.database.rows(
                """
                select 'flights', count(*)::text, md5(string_agg(f::text, ',' order by f.id)) from flights f
                union all select 'legs', count(*)::text, md5(string_agg(l::text, ',' order by l.flight)) from legs l
                union all select 'log', count(*)::text, string_agg(g.step, ',' order by g.step) from log g
                """
            ),
            published: try await fire.database.rows(
                """
                select count(k.key), count(distinct k.key)
                from bulkhead.change c cross join jsonb_array_elements_text(c.ids) as k (key)
                where c.relation = 'public.flights'
                """
            )
        )
    }

    /// The lines of pg_dump, without those that are random.
    private func schema() async throws -> [String] {
        let dump = try await fire.program.shell(
            "\"${BULKHEAD_PG_BIN:+$BULKHEAD_PG_BIN/}pg_dump\" -s -N bulkhead \"$BULKHEAD_DATABASE_URL\""
        )
        try #require(dump.status == 0, "\(dump.errors)")
        return dump.output.split(separator: "\n").map(String.init).filter {
            !$0.contains("restrict ")
        }
    }
}
