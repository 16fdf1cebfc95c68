import Bulkhead
import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

@Suite struct TransactionStepTests {
    @Test func filesAreAppliedInOrderAndOnce() async throws {
        try await MigrationScene.with { scene in
            let files = [
                ("0002_b.sql", "insert into a values (2);"),
                ("0001_a.sql", "create table a (n int); insert into a values (1)"),
            ]
            let ending = try await scene.migrate(files)
            #expect(ending.error == nil)
            #expect(ending.state == "completed")
            #expect(
                ending.result == #"{"rows": 0, "files": ["0001_a.sql", "0002_b.sql"], "steps": 2}"#
            )
            try await scene.apply(files)
            try await scene.expect("select array_agg(n order by n)::text from a", "{1,2}")
            let record = try await scene.database.rows(
                "select version, file, state, steps_applied, steps, job, ended_at >= started_at from bulkhead.migration_status"
            )
            #expect(
                record == [
                    ["1", "0001_a.sql", "applied", "1", "1", "1", "t"],
                    ["2", "0002_b.sql", "applied", "1", "1", "1", "t"],
                ]
            )
        }
    }

    @Test func aFailingStatementIsNamedWithItsLineAndTheMendedFileGoesOn() async throws {
        try await MigrationScene.with { scene in
            let first =
                "create table a (n int);\n-- bulkhead: transaction\ninsert into a values (1);\n"
            let wrong = first + "insert into a\n  values ('x');\ninsert into a values (3)"
            let ending = try await scene.migrate([("1_a.sql", wrong)])
            #expect(ending.state == "discarded")
            #expect(
                ending.error?.hasPrefix(
                    "1_a.sql line 4: invalid input syntax for type integer: \"x\""
                ) == true,
                "\(ending.error ?? "")"
            )
            try await scene.expect("select count(*) from a", "0")
            #expect(
                try await scene.database.rows(
                    "select step, state, error is null from bulkhead.migration order by step"
                ) == [["1", "applied", "t"], ["2", "failed", "f"]]
            )
            try await scene.apply([("1_a.sql", first + "insert into a values (2)")])
            try await scene.expect("select array_agg(n order by n)::text from a", "{1,2}")
            try await scene.expect("select state from bulkhead.migration_status", "applied")
        }
    }

    @Test func aStepThatWasAppliedMustNotChangeInTheMendedFile() async throws {
        try await MigrationScene.with { scene in
            let wrong = "create table a (n int);\n-- bulkhead: transaction\nwrong"
            try await scene.migrate([("1_a.sql", wrong)])
            let changed = "create table a (n bigint);\n-- bulkhead: transaction\nselect 1"
            let ending = try await scene.migrate([("1_a.sql", changed)])
            #expect(
                ending.error?.hasPrefix("step 1 of 1_a.sql was applied and has been changed since")
                    == true
            )
            try await scene.apply([("1_a.sql", changed)], "repair => true")
        }
    }

    @Test func readersAreToldToReadATableAgainWhoseRowsAStepChanged() async throws {
        try await MigrationScene.with(
            """
            create table a (n int primary key); create table b (n int primary key); create table c (n int);
            select bulkhead.track('b'); insert into c values (1)
            """
        ) { scene in
            try await scene.apply([
                (
                    "1_x.sql",
                    "insert into a values (1); insert into b values (2); delete from a where n = 7; truncate c"
                )
            ])
            #expect(
                try await scene.database.rows(
                    "select relation, operation, ids, job from bulkhead.change order by relation"
                ) == [
                    ["public.a", "reset", nil, "1"], ["public.b", "insert", "[2]", "1"],
                    ["public.c", "reset", nil, "1"],
                ]
            )
        }
    }

    /// Errors that would come again at each try.
    @Test(arguments: [
        (
            "insert into a values (1, 7);\nalter table a add x int;",
            "1_x.sql line 2: cannot ALTER TABLE \"a\" because it has pending trigger events"
        ),
        (
            "do $$ begin execute 'vacuum'; end $$;",
            "1_x.sql line 1: VACUUM cannot run inside a transaction block; give it a step"
        ),
        (
            "insert into a values (1, 8);",
            "1_x.sql line 1: insert or update on table \"a\" violates foreign key"
        ),
    ])
    func whatCannotSucceedIsNotTriedAgain(text: String, words: String) async throws {
        try await MigrationScene.with(
            """
            create table b (id int primary key); insert into b values (7);
            create table a (id int primary key, b int references b deferrable initially deferred)
            """
        ) { scene in
            let ending = try await scene.migrate([("1_x.sql", text)])
            #expect(ending.state == "discarded")
            #expect(ending.error?.hasPrefix(words) == true, "\(ending.error ?? "")")
        }
    }

    @Test func settingsOfAFileEndWithItsStep() async throws {
        try await MigrationScene.with(
            "create schema app; create role migrator_x; grant all on schema app to migrator_x"
        ) {
            scene in
            try await scene.apply([
                (
                    "1_a.sql",
                    "set search_path = app; set role migrator_x; set lock_timeout = 0; create table a ()"
                ),
                ("2_b.sql", "create table b ()"),
            ])
            #expect(
                try await scene.database.rows(
                    "select relname, relnamespace::regnamespace, relowner::regrole = 'migrator_x'::regrole from pg_class where relname in ('a', 'b') order by 1"
                ) == [["a", "app", "t"], ["b", "public", "f"]]
            )
            try await scene.database.run("drop owned by migrator_x; drop role migrator_x")
        }
    }

    @Test func namesMeanWhatTheyMeantToTheCaller() async throws {
        try await MigrationScene.with("create schema app") { scene in
            let session = try await scene.database.session()
            try await session.run("set search_path = app")
            _ = try await session.value(
                #"select bulkhead.migrate('[{"name": "1_a.sql", "text": "create table a ()"}]')"#
            )
            try await scene.drain()
            try await scene.expect("select to_regclass('app.a')::text", "app.a")
        }
    }

    @Test func aLockThatIsHeldIsWaitedForAndItsHolderNamed() async throws {
        try await MigrationScene.with("create table a (n int)") { scene in
            let holder = try await scene.database.session()
            try await holder.run("begin; select * from a")
            let job = try await scene.enqueue(
                [("1_a.sql", "alter table a add b int")],
                "max_block => 50"
            )
            let daemon = try await TestDaemon.start(scene.database, [MigrationHandler()]) {
                $0.drains = true
            }
            try await scene.database.waitUntil(
                """
                select waiting ~ '^access exclusive lock on public.a held by pid \\d+ \\(user .*, idle in transaction, open for \\d+ s\\): begin; select \\* from a$'
                from bulkhead.job_status where id = \(job)
                """
            )
            // Nobody else waits behind it for long.
            try await scene.database.run("set lock_timeout = '2s'; insert into a values (1)")
            try await holder.run("commit")
            try await daemon.wait()
            #expect(try await scene.ending(of: job).state == "completed")
            try await scene.expect(
                "select count(*) from pg_attribute where attrelid = 'a'::regclass and attname = 'b'",
                "1"
            )
        }
    }

    @Test func whenTheLockCannotBeHadTheBlockersAreNamed() async throws {
        try await MigrationScene.with("create table a (n int); create table b (n int)") { scene in
            let holder = try await scene.database.session()
            try await holder.run("begin; select * from b")
            let ending = try await scene.migrate(
                [("1_a.sql", "alter table a add x int;\nalter table b add x int")],
                "max_block => 20, lock_timeout_total => '1 second'"
            )
            #expect(ending.state == "discarded")
            #expect(
                ending.error?.contains(
                    "access exclusive lock on public.b was not given within 1.0 seconds, held by pid "
                ) == true,
                "\(ending.error ?? "")"
            )
            #expect(ending.error?.contains("select * from b") == true)
            try await holder.run("commit")
        }
    }

    @Test func tenDaemonsApplyADirectoryOnce() async throws {
        try await MigrationScene.with { scene in
            let files = (1...6).map { n in
                ("\(n)_x.sql", n == 1 ? "create table a (n int)" : "insert into a values (\(n))")
            }
            let jobs = try await withThrowingTaskGroup(of: Int64.self) { group in
                for _ in 0..<10 { group.addTask { try await scene.enqueue(files) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let daemons = try await withThrowingTaskGroup(of: TestDaemon.self) { group in
                for _ in 0..<10 {
                    group.addTask {
                        try await TestDaemon.start(scene.database, [MigrationHandler()]) {
                            $0.drains = true
                        }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for daemon in daemons { try await daemon.wait() }
            try await scene.expect("select array_agg(n order by n)::text from a", "{2,3,4,5,6}")
            try await scene.expect(
                "select count(*) from bulkhead.job where state = 'completed'",
                "\(jobs.count)"
            )
            try await scene.expect("select sum((result ->> 'steps')::int) from bulkhead.job", "6")
        }
    }
}
