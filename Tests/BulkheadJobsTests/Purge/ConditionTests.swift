import Bulkhead
import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

/// A condition is one boolean expression over the table, and means the same from the first batch to the last.
@Suite struct ConditionTests {
    private static let setup = """
        create schema hc;
        create table hc.t (id int primary key, v int, "Odd ""name" text, at timestamptz default now(), d date default current_date);
        insert into hc.t select g, g % 10, 'x' from generate_series(1, 100) g;
        create table hc.other (id int);
        insert into hc.other values (1), (2);
        """

    @Test(arguments: [
        "true) or (true", "true; drop table hc.t", "true); drop table hc.t; select (true",
        "true] or array[true", "true union select true", "true) union select from hc.t where (true",
        "id, v", "id", "select true", "true order by id", "true --", "/* open", "$a$", "'open",
        "$a$ ); drop table hc.t; select (array[true", "nope = 1", "count(*) > 1",
        "true returning id",
        "id = $1", "(delete from hc.t returning true)", "true limit 1", "\"open",
    ])
    func whatIsNotOneExpressionIsRefusedAtOnce(condition: String) async throws {
        try await PurgeBench.with(Self.setup) { bench in
            // A comment to the end of its line is nothing but white space.
            if condition == "true --" {
                let job = try await bench.purge("hc.t", "condition => 'v = 1 --'")
                #expect(job.report.deleted == 10, "\(job.error ?? "")")
                return
            }
            let error = await #expect(throws: PostgresError.self) {
                _ = try await bench.enqueue("hc.t", "condition => \(quoted(literal: condition))")
            }
            #expect(
                error?.message.contains("is not one boolean expression over hc.t") == true,
                "\(error?.message ?? "")"
            )
            // Nor by another way past the check at the door.
            let job = try await bench.value(
                """
                select bulkhead.enqueue('purge', jsonb_build_object('table_name', 'hc.t', 'condition', \(quoted(literal: condition))))
                """
            )
            try await bench.drain()
            let outcome = try await bench.outcome(of: Int64(job ?? "") ?? 0)
            #expect(outcome.state == "discarded")
            #expect(outcome.batches == 0)
            #expect(try await bench.value("select count(*) from hc.t") == "100")
        }
    }

    @Test(arguments: [
        ("random() < 0.5", "random()"), ("at < clock_timestamp()", "clock_timestamp()"),
        ("id in (select id from hc.other where random() < 1)", "random()"),
        ("hc.odd(v)", "hc.odd(integer)"), ("v operator(hc.===) 1", "hc.same(integer,integer)"),
        ("nextval('hc.s') > 0", "nextval(regclass)"),
        ("id in (select id from hc.other tablesample system (50))", "random()"),
    ])
    func whatGivesAnotherAnswerEachTimeIsRefused(condition: String, named: String) async throws {
        let setup =
            Self.setup + """
                create sequence hc.s;
                create function hc.odd(int) returns boolean language sql volatile as 'select $1 % 2 = 1';
                create function hc.same(int, int) returns boolean language sql volatile as 'select $1 = $2';
                create operator hc.=== (leftarg = int, rightarg = int, function = hc.same);
                """
        try await PurgeBench.with(setup) { bench in
            let job = try await bench.purge("hc.t", "condition => $$\(condition)$$")
            #expect(job.state == "discarded")
            #expect(
                job.error?.contains("calls \(named), which gives another answer") == true,
                "\(job.error ?? "")"
            )
            #expect(try await bench.value("select count(*) from hc.t") == "100")
        }
    }

    @Test(arguments: [
        ("now() - interval '1 day' > at", true),
        ("at < current_timestamp(3) - interval '1 day'", true),
        ("d < current_date - 1", true), ("age(at) > '1 day'", true), ("age(d) > '1 day'", true),
        ("age(now(), at) > '1 day'", true), ("d < 'yesterday'", true),
        ("at < 'now'::timestamptz - interval '1 day'", true),
        ("at < localtimestamp - interval '1 day'", true),
        ("at < statement_timestamp() - interval '1 day'", true),
        (#""Odd ""name" = 'now()' or at < now() - interval '1 day'"#, true),
        ("at::time < current_time and at < now() - interval '1 day'", true), ("v > 3", true),
    ])
    func theClockStandsStill(condition: String, holds: Bool) async throws {
        try await PurgeBench.with(Self.setup) { bench in
            let id = try await bench.enqueue("hc.t", "condition => $$\(condition)$$")
            try await bench.drain()
            let job = try await bench.outcome(of: id)
            #expect(job.state == "completed", "\(job.error ?? "")")
            let text = job.condition ?? ""
            // What is left of clocks stands inside a literal.
            let bare = text.split(separator: "'", omittingEmptySubsequences: false).enumerated()
                .filter { $0.offset % 2 == 0 }.map(\.element).joined()
            for clock in ["now()", "CURRENT", "LOCAL", "_timestamp(", "age(t."] {
                #expect(!bare.contains(clock), "\(text)")
            }
            #expect(try await bench.value("select \(text) is not null from hc.t t limit 1") != "x")
        }
    }

    /// FC-096: rows go on arriving while the purge runs and pauses; those too young at its start stay.
    @Test func theCutoffDoesNotMoveWithTheClock() async throws {
        let setup = try CaseFiles.text("FC-096/setup.sql")
        try await PurgeBench.with(setup) { bench in
            let id = try await bench.enqueue(
                "hc.log",
                "$$at < now() - interval '1 second'$$, batch => 10"
            )
            let database = bench.database
            let writer = Task {
                let session = try await database.session()
                for _ in 0..<400 where !Task.isCancelled {
                    _ = try await session.value(
                        "insert into hc.log (at) select clock_timestamp() from generate_series(1, 5)"
                    )
                }
            }
            for share in [100, 700] {
                let daemon = try await bench.startDaemon()
                try await bench.database.waitUntil(
                    SQL(
                        unsafe:
                            "select rows_done > \(share) or state = 'completed' from bulkhead.job"
                    )
                )
                try await daemon.stop()
            }
            try await bench.drain()
            writer.cancel()
            _ = try await writer.value
            let job = try await bench.outcome(of: id)
            #expect(job.state == "completed", "\(job.error ?? "")")
            // Every row younger than the cutoff is there, and none older.
            let cutoff = job.condition?.split(separator: "'")[1] ?? ""
            #expect(
                try await bench.value(
                    "select count(*) from hc.log where at < timestamptz '\(cutoff)' - interval '1 second'"
                ) == "0"
            )
            let deleted = job.report.deleted
            let gone = try await bench.value("select max(id) - count(*) from hc.log")
            #expect(gone == "\(deleted)")
            #expect(
                try await bench.value(
                    "select bool_and(at >= timestamptz '\(cutoff)' - interval '1 second') from hc.log"
                ) == "t"
            )
        }
    }

    @Test func namesAreFoundAsTheCallerFindsThem() async throws {
        let setup = """
            create schema hc;
            create schema own;
            create table hc."Odd Table" (id int primary key, "Select" int);
            insert into hc."Odd Table" select g, g from generate_series(1, 10) g;
            create function own.small(int) returns boolean language sql immutable as 'select $1 < 4';
            create table own.list (id int);
            insert into own.list values (9);
            """
        try await PurgeBench.with(setup) { bench in
            let session = try await bench.database.session()
            try await session.run("set search_path = own, hc")
            _ = try await session.value(
                """
                select bulkhead.purge('"Odd Table"', $$small("Odd Table"."Select") or exists (
                    select from list where list.id = "Odd Table".id)$$)
                """
            )
            try await bench.drain()
            let job = try await bench.outcome(of: 1)
            #expect(job.report.deleted == 4, "\(job.error ?? "")")
            #expect(job.condition?.contains("own.small") == true, "\(job.condition ?? "")")
        }
    }

    @Test func aRoleWithoutTemporaryTablesIsToldWhatItNeeds() async throws {
        try await PurgeBench.with(Self.setup) { bench in
            try await LimitedRole.with(in: bench.database) { role in
                try await bench.database.run(
                    """
                    grant usage on schema hc to \(role.name); grant select, delete on hc.t to \(role.name);
                    revoke temporary on database \(bench.database.name) from public;
                    """
                )
                let id = try await bench.enqueue("hc.t", "$$v = 1$$")
                let plain = try await bench.enqueue(
                    "hc.t",
                    "column_name => 'd', older_than => '-1 day', max_rows => 7"
                )
                try await bench.drain { $0.address = role.address }
                let job = try await bench.outcome(of: id)
                #expect(job.state == "discarded")
                #expect(
                    job.error?.contains("grant temporary on database") == true,
                    "\(job.error ?? "")"
                )
                let other = try await bench.outcome(of: plain)
                #expect(other.report.deleted == 7, "\(other.error ?? "")")
            }
        }
    }
}
