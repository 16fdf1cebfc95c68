import Bulkhead
import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

@Suite struct OutsideStepTests {
    private static let flights = """
        create table flights (id bigint primary key, carrier text, tail text);
        insert into flights select n, 'c' || n % 10, 't' || n % 100 from generate_series(1, 2000) n
        """
    private static let indexes: SQL = """
        select string_agg(c.relname || ' ' || i.indisvalid, ', ' order by c.relname)
        from pg_index i join pg_class c on c.oid = i.indexrelid
        where i.indrelid = 'flights'::regclass and not i.indisprimary
        """

    @Test func whatRefusesATransactionRunsWithoutOne() async throws {
        try await MigrationScene.with(Self.flights + "; create type mood as enum ('a')") { scene in
            try await scene.apply([
                (
                    "1_x.sql",
                    """
                    -- bulkhead: concurrently
                    create index on flights (carrier);
                    create index concurrently by_tail on flights (tail);
                    alter type mood add value 'b';
                    alter table flights add note text;
                    vacuum flights;
                    reindex index concurrently by_tail;
                    create unique index if not exists u on flights (id, tail);
                    drop index concurrently flights_carrier_idx;
                    """
                )
            ])
            try await scene.expect(Self.indexes, "by_tail true, u true")
            try await scene.expect("select enum_range(null::mood)::text", "{a,b}")
            try await scene.expect(
                "select steps_applied || '/' || steps from bulkhead.migration_status",
                "1/1"
            )
        }
    }

    @Test func anIndexThatFailsLeavesNothingAndTheMendedFileGoesOn() async throws {
        try await MigrationScene.with(Self.flights) { scene in
            let step = "alter table flights add x int;\n-- bulkhead: concurrently\n"
            let ending = try await scene.migrate([
                ("1_x.sql", step + "create unique index on flights (carrier);")
            ])
            #expect(ending.state == "discarded")
            #expect(
                ending.error?.hasPrefix("1_x.sql line 3: could not create unique index") == true,
                "\(ending.error ?? "")"
            )
            try await scene.expect(Self.indexes, nil)
            try await scene.apply([
                ("1_x.sql", step + "create unique index on flights (carrier, id);")
            ])
            try await scene.expect(Self.indexes, "flights_carrier_id_idx true")
        }
    }

    @Test func statementsThatWereRunMustNotChangeInTheMendedFile() async throws {
        try await MigrationScene.with(Self.flights) { scene in
            func text(_ first: String, _ second: String) -> String {
                "-- bulkhead: concurrently\n\(first);\n\(second);"
            }
            let index = "create index on flights (tail)"
            await #expect(
                try scene.migrate([("1_x.sql", text(index, "drop index nothing"))]).state
                    == "discarded"
            )
            let changed = try await scene.migrate([("1_x.sql", text("select 1", index))])
            #expect(
                changed.error?.contains("was run and has been changed since") == true,
                "\(changed.error ?? "")"
            )
            try await scene.apply([("1_x.sql", text(index, "create index on flights (carrier)"))])
            try await scene.expect(Self.indexes, "flights_carrier_idx true, flights_tail_idx true")
        }
    }

    @Test func anInvalidIndexOfTheSameNameIsBuiltAnew() async throws {
        try await MigrationScene.with(Self.flights) { scene in
            await #expect(throws: PostgresError.self) {
                try await scene.database.run(
                    "create unique index concurrently by_carrier on flights (carrier)"
                )
            }
            try await scene.expect(Self.indexes, "by_carrier false")
            try await scene.apply([
                (
                    "1_x.sql",
                    "create index concurrently if not exists by_carrier on flights (carrier)"
                )
            ])
            try await scene.expect(Self.indexes, "by_carrier true")
        }
    }

    @Test func aValidIndexOfTheSameNameIsNotTouched() async throws {
        try await MigrationScene.with(Self.flights + "; create index by_carrier on flights (tail)")
        { scene in
            let ending = try await scene.migrate([
                ("1_x.sql", "create index concurrently by_carrier on flights (carrier)")
            ])
            #expect(ending.error?.contains("already exists") == true)
            try await scene.expect(Self.indexes, "by_carrier true")
        }
    }

    /// The build waits for an old transaction; its server process is ended in the middle.
    @Test(arguments: [false, true])
    func aBuildThatIsCutOffIsBegunAnew(hasName: Bool) async throws {
        try await MigrationScene.with(Self.flights) { scene in
            let old = try await scene.database.session()
            try await old.run("begin; update flights set tail = 'x' where id = 1")
            let job = try await scene.enqueue(
                [
                    (
                        "1_x.sql",
                        "create index concurrently \(hasName ? "by_tail" : "") on flights (tail)"
                    )
                ]
            )
            let daemon = try await TestDaemon.start(scene.database, [MigrationHandler()]) {
                $0.drains = true
            }
            try await scene.database.waitUntil(
                """
                select waiting like 'an index build, waiting for writers before build (pid %bulkhead test)'
                from bulkhead.job_status
                """
            )
            // First the build is cut off, then the removal of what it left.
            for statement in ["create", "drop"] {
                let atWork: SQL = """
                    from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
                        and query like \(statement + " index concurrently%")
                    """
                try await scene.database.waitUntil("select exists (select \(atWork))")
                _ = try await scene.database.rows(
                    "select pg_terminate_backend(pid, 5000) \(atWork)"
                )
            }
            try await old.run("commit")
            try await daemon.wait()
            #expect(try await scene.ending(of: job).state == "completed")
            try await scene.expect(Self.indexes, hasName ? "by_tail true" : "flights_tail_idx true")
            try await scene.expect("select attempt from bulkhead.job", "1")
        }
    }

    /// Done, and not recorded: as a death between the two leaves it.
    @Test(arguments: [
        ("create index concurrently by_tail on flights (tail)", "by_tail true"),
        ("create index concurrently on flights (tail)", "flights_tail_idx true"),
    ])
    func whatWasDoneAndNotRecordedIsNotDoneAgain(statement: String, indexes: String) async throws {
        try await MigrationScene.with(
            Self.flights
                + """
                ; create function stop() returns trigger language plpgsql as $$
                begin
                    if new.position -> 'done' ->> 0 is not null then raise exception 'not now'; end if;
                    return new;
                end $$;
                create trigger stop before update on bulkhead.migration for each row execute function stop()
                """
        ) { scene in
            let ending = try await scene.migrate([("1_x.sql", statement)])
            #expect(ending.state != "completed")
            try await scene.expect(Self.indexes, indexes)
            try await scene.database.run(
                "drop trigger stop on bulkhead.migration; select bulkhead.retry(id) from bulkhead.job"
            )
            try await scene.drain()
            try await scene.expect("select state from bulkhead.job", "completed")
            try await scene.expect(Self.indexes, indexes)
        }
    }

    @Test func aDetachThatIsHalfDoneIsFinished() async throws {
        try await MigrationScene.with(
            """
            create table m (day int) partition by range (day);
            create table m1 partition of m for values from (1) to (2)
            """
        ) { scene in
            let reader = try await scene.database.session()
            try await reader.run("begin isolation level repeatable read; select * from m")
            let job = try await scene.enqueue([
                ("1_x.sql", "alter table m detach partition m1 concurrently")
            ])
            let daemon = try await TestDaemon.start(scene.database, [MigrationHandler()]) {
                $0.drains = true
            }
            try await scene.database.waitUntil(
                "select inhdetachpending from pg_inherits where inhrelid = 'm1'::regclass"
            )
            _ = try await scene.database.rows(
                """
                select pg_terminate_backend(pid, 5000) from pg_stat_activity
                where datname = current_database() and query like 'alter table m detach%'
                """
            )
            try await reader.run("commit")
            try await daemon.wait()
            #expect(try await scene.ending(of: job).state == "completed")
            try await scene.expect("select count(*) from pg_inherits", "0")
        }
    }
}
