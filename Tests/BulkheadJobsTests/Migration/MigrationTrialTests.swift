import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

/// What the dry run of a migration says is what happens to a table with rows in it.
@Suite struct MigrationTrialTests {
    private static let schema = """
        create table plane (tailnum text primary key, seats int);
        create table flight (
            id int primary key, tailnum text, distance int, code varchar(10), at timestamp, amount numeric(8,2),
            flag boolean default false, body json, size bigint, unique (code),
            constraint far check (distance > 0)
        );
        create index flight_at on flight (at);
        create unique index flight_size on flight (size);
        create table part (id int, day date not null) partition by range (day);
        create table part1 partition of part for values from ('2024-01-01') to ('2025-01-01');
        create table loose (id int, day date not null);
        """
    private static let rows = """
        insert into plane select 'N' || g, g from generate_series(1, 50) g;
        insert into flight select g, 'N' || (1 + g % 50), g, 'c' || g, now(), g, true, '{}', g from generate_series(1, 2000) g;
        insert into part select g, '2024-01-01'::date + g % 300 from generate_series(1, 500) g;
        insert into loose select g, '2025-01-01'::date + g % 300 from generate_series(1, 500) g;
        """

    static let statements = [
        "alter table flight add column c1 int",
        "alter table flight add column c2 int not null default 7",
        "alter table flight add column c3 timestamptz default now()",
        "alter table flight add column c4 uuid default gen_random_uuid()",
        "alter table flight add column c5 int generated always as (distance * 2) stored",
        "alter table flight add column c6 serial",
        "alter table flight add column c7 text check (c7 <> '')",
        "alter table flight drop column amount",
        "alter table flight alter column distance type bigint",
        "alter table flight alter column code type varchar(20)",
        "alter table flight alter column code type text",
        "alter table flight alter column code type varchar(8)",
        "alter table flight alter column at type timestamptz",
        "alter table flight alter column amount type numeric(12,2)",
        "alter table flight alter column amount type numeric(12,4)",
        "alter table flight alter column distance set not null",
        "alter table flight drop constraint flight_pkey",
        "alter table flight alter column flag set default true",
        "alter table flight alter column flag drop default",
        "alter table flight alter column distance set statistics 500",
        "alter table flight alter column body set storage external",
        "alter table flight add constraint positive check (size > 0)",
        "alter table flight add constraint positive check (size > 0) not valid",
        "alter table flight drop constraint far",
        "alter table flight add constraint tail foreign key (tailnum) references plane",
        "alter table flight add constraint tail foreign key (tailnum) references plane not valid",
        "alter table flight add constraint sizes unique (size)",
        "alter table flight add constraint sizes unique using index flight_size",
        "alter table flight add constraint apart exclude using btree (size with =)",
        "alter table flight rename column size to weight",
        "alter table flight rename to trip",
        "alter table flight set (fillfactor = 80)",
        "alter table flight set unlogged",
        "alter table flight replica identity full",
        "alter table flight enable row level security",
        "alter table flight disable trigger all",
        "alter table part attach partition loose for values from ('2025-01-01') to ('2026-01-01')",
        "alter table part detach partition part1",
        "create index on flight (distance)",
        "create unique index on flight (distance, id)",
        "create index on part (id)",
        "create trigger t before insert on flight for each row execute function suppress_redundant_updates_trigger()",
        "create policy p on flight using (true)",
        "create materialized view m as select count(*) from flight",
        "create view v as select * from flight",
        "create table copy (like flight including all)",
        "create table log (flight_id int references flight)",
        "create statistics s on distance, size from flight",
        "drop index flight_at",
        "drop table loose",
        "truncate plane, flight",
        "update flight set distance = distance + 1",
        "comment on table flight is 'x'",
        "reindex table flight",
        "cluster flight using flight_at",
        "lock table flight in share mode",
        "refresh materialized view seen",
    ]

    @Test(arguments: statements)
    func whatIsSeenWithoutRowsIsWhatHappensWithThem(statement: String) async throws {
        let extra =
            statement.contains("seen")
            ? "create materialized view seen as select * from flight;" : ""
        let forecast = try await Self.effects(of: statement, Self.schema + extra, isTrial: true)
        let real = try await Self.effects(of: statement, Self.schema + Self.rows + extra)
        #expect(forecast == real)
        #expect(!forecast.isEmpty)
    }

    private static func effects(
        of statement: String,
        _ setup: String,
        isTrial: Bool = false
    ) async throws -> [TableEffect] {
        try await TestDatabase.with(hasSchema: false) { database in
            try await database.run(setup)
            let session = try await database.session()
            return try await session.use { connection in
                if isTrial { try StatementObserver.prepare(connection) }
                return try connection.transaction { connection in
                    try StatementObserver(connection: connection).observe(statement)
                }
            }
        }
    }

    /// Without a transaction nobody can look from inside: another session does, while a third one holds it up.
    @Test(arguments: [
        ("create index concurrently on flight (distance)", "public.flight"),
        ("reindex table concurrently flight", "public.flight"),
    ])
    func theLocksOfStatementsOutsideATransactionAreThoseOfTheTable(
        text: String,
        table: String
    ) async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            try await database.run(Self.schema)
            let holder = try await database.session()
            try await holder.run("begin; lock table flight in row exclusive mode")
            let runner = try await database.session()
            let observer = try await database.session()
            let statement = try MigrationPlan(MigrationFile(name: "1_x.sql", text: text + ";")).up[
                0
            ]
            .statements[0]
            #expect(statement.runsOutside)
            let expected = TableEffect.buildingConcurrently(on: table).lock
            let run = Task { try await runner.run(text) }
            try await observer.waitUntil(
                """
                select exists (
                    select from pg_locks l join pg_database d on d.oid = l.database
                    where d.datname = current_database() and l.relation = 'flight'::regclass and l.granted
                        and l.mode = 'ShareUpdateExclusiveLock')
                """
            )
            let modes = try await observer.rows(
                """
                select l.mode from pg_locks l join pg_database d on d.oid = l.database
                join pg_stat_activity a on a.pid = l.pid
                where d.datname = current_database() and l.relation = 'flight'::regclass and l.granted
                    and a.query like '%concurrently%' and a.pid <> pg_backend_pid()
                """
            ).compactMap { $0[0].flatMap { LockMode(shown: $0) } }
            #expect(modes.max() == expected)
            try await holder.run("rollback")
            try await run.value
        }
    }

    @Test func theReportNamesWhoWaitsAndTheSafeForm() async throws {
        try await TestDatabase.with(hasSchema: false) { live in
            try await live.run(Self.schema)
            try await live.run(
                "insert into flight select g, null, g, 'c' || g, now(), g, true, '{}', g from generate_series(1, 300000) g; analyze"
            )
            let forecast = try await TestDatabase.with(hasSchema: false) { scratch in
                try await scratch.run(Self.schema)
                let file = try MigrationFile(
                    name: "0007_x.sql",
                    text: """
                        alter table flight add column note text;
                        alter table flight alter column distance type bigint;
                        alter table flight rename column size to weight;
                        -- bulkhead: concurrently
                        create index flight_distance on flight (distance);
                        -- bulkhead: backfill flight until note is not null
                        update flight set note = 'x' where {batch};
                        -- bulkhead: transaction
                        alter table flight add column nope nothing;
                        """
                )
                let session = try await live.session()
                return try await session.use { connection in
                    let other = try Connection(
                        scratch.address,
                        settings: SessionSettings(applicationName: "trial")
                    )
                    return try MigrationTrial(live: connection, scratch: other).forecast([file])
                }
            }
            #expect(forecast.isBlocking)
            #expect(
                forecast.steps.map(\.kind) == [
                    "transaction", "concurrently", "backfill", "transaction",
                ]
            )
            let first = forecast.steps[0].statements
            #expect(first[0].tables.allSatisfy { !$0.isBlocking })
            #expect(first[1].tables.first?.blocks == "reads and writes")
            #expect(first[1].tables.first?.isRewritten == true)
            #expect(first[1].tables.first?.rows == 300_000)
            #expect(first[1].recipe.first?.contains("expand and contract") == true)
            #expect(first[2].recipe.first?.contains("whoever still uses the old name") == true)
            #expect(forecast.steps[1].statements[0].tables.first?.isBlocking == false)
            #expect(forecast.steps[1].statements[0].tables.first?.lock == "SHARE UPDATE EXCLUSIVE")
            #expect(
                forecast.steps[3].error?.contains(
                    "0007_x.sql line 9: type \"nothing\" does not exist"
                ) == true,
                "\(forecast.steps[3].error ?? "")"
            )
        }
    }
}
