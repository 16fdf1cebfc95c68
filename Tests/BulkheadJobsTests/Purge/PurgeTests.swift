import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

/// Which rows go, in which batches, and what the feed says of it.
@Suite struct PurgeTests {
    private static let items = """
        create schema hc;
        create table hc.item (id int primary key, kind text, at timestamptz not null, size int);
        insert into hc.item select g, case when g % 3 = 0 then 'old' end, timestamptz '2024-01-01' + g * interval '1 hour', g % 10
        from generate_series(1, 3000) g;
        """

    @Test func rowsGoByPagesAndTheFeedNamesEachOfThemOnce() async throws {
        try await PurgeBench.with(Self.items) { bench in
            let job = try await bench.purge("hc.item", "$$kind = 'old'$$")
            #expect(job.state == "completed", "\(job.error ?? "")")
            #expect(job.report.deleted == 1000)
            #expect(job.report.left == 0)
            #expect(try await bench.value("select count(*) from hc.item") == "2000")
            #expect(
                try await bench.changes("delete", "hc.item")
                    == (1...1000).map { "\($0 * 3)" }
            )
            #expect(
                try await bench.value("select job from bulkhead.change limit 1") == "\(job.id)"
            )
        }
    }

    /// The planner takes the index for a few rows of many; ties are cut inside one value.
    @Test(arguments: [1, 7, 100])
    func rowsGoByTheIndexThatServesTheCondition(batch: Int) async throws {
        let setup = """
            create schema hc;
            create table hc.item (id int primary key, at date, note text);
            insert into hc.item select g, date '2024-01-01' + g / 50, repeat('x', 100) from generate_series(1, 20000) g;
            insert into hc.item select 100000 + g, null from generate_series(1, 10) g;
            create index on hc.item (at, note);
            analyze hc.item;
            """
        try await PurgeBench.with(setup) { bench in
            let id = try await bench.enqueue("hc.item", "$$at < '2024-01-08'$$, batch => \(batch)")
            let probe = try await bench.database.session()
            try await probe.run(
                """
                create table hc.size (n int);
                create function hc.count() returns trigger language plpgsql as $$
                begin insert into hc.size select count(*) from gone; return null; end $$;
                create trigger count after delete on hc.item referencing old table as gone
                for each statement execute function hc.count();
                """
            )
            try await bench.drain()
            let job = try await bench.outcome(of: id)
            #expect(job.report.deleted == 349, "\(job.error ?? "")")
            #expect(try await bench.value("select count(*) from hc.item where at is null") == "10")
            #expect(try await bench.value("select max(n) from hc.size") == "\(batch)")
            #expect(try await bench.changes("delete", "hc.item").count == 349)
        }
    }

    /// FC-091: no key, and all rows share one value.
    @Test func noBatchIsLargerThanAsked() async throws {
        let setup =
            try CaseFiles.text("FC-091/setup.sql") + """
                ;create table hc.size (n int);
                create function hc.count() returns trigger language plpgsql as $$
                begin insert into hc.size select count(*) from gone; return null; end $$;
                create trigger count after delete on hc.snap referencing old table as gone
                for each statement execute function hc.count();
                create index on hc.snap (at);
                """
        let check = try CaseFiles.text("FC-091/check.sql")
        try await PurgeBench.with(setup) { bench in
            let job = try await bench.purge("hc.snap", "$$at < '2025-01-01'$$, batch => 100")
            #expect(job.report.deleted == 10_000, "\(job.error ?? "")")
            #expect(try await bench.value("select max(n) from hc.size") == "100")
            #expect(
                try await bench.value(check)
                    == "10"
            )
        }
    }

    /// FC-098: NULL in the condition keeps a row, and NOT IN over a NULL keeps every row, as the server has it.
    @Test func nullLogicIsTheServers() async throws {
        let setup = try CaseFiles.text("FC-098/setup.sql")
        let check = try CaseFiles.text("FC-098/check.sql")
        try await PurgeBench.with(setup) { bench in
            let exists = """
                $$last_seen < '2025-01-01' and not exists (select from hc.use u where u.blob_id = blob.id)$$
                """
            let not = "$$last_seen < '2025-01-01' and id not in (select blob_id from hc.use)$$"
            let kept = try await bench.purge("hc.blob", not)
            #expect(kept.report.deleted == 0, "\(kept.error ?? "")")
            let job = try await bench.purge("hc.blob", exists)
            #expect(job.report.deleted == 1, "\(job.error ?? "")")
            #expect(
                try await bench.rows(check)
                    == [["2"], ["3"], ["4"]]
            )
        }
    }

    /// FC-101: full duplicates and no key; readers are told to read again.
    @Test func aTableWithoutAKeyIsPurgedToTheLastRow() async throws {
        let setup = try CaseFiles.text("FC-101/setup.sql")
        let check = try CaseFiles.text("FC-101/check.sql")
        try await PurgeBench.with(setup) { bench in
            let job = try await bench.purge("hc.dup", "$$b = 'x'$$, batch => 7")
            #expect(job.report.deleted == 101, "\(job.error ?? "")")
            #expect(
                try await bench.rows(check)
                    == [["9", "keep", "10"], [nil, "keep", "1"]]
            )
            #expect(Set(try await bench.changes("delete", "hc.dup")) == ["all"])
        }
    }

    @Test func anAgeIsAMomentALocalTimeOrADayAsTheColumnMeansIt() async throws {
        let setup = """
            create schema hc;
            create domain hc.day as date;
            create table hc.t (id int primary key, a timestamptz, b timestamp, c date, d hc.day);
            insert into hc.t select g, now() - g * interval '1 hour', (now() at time zone 'Asia/Tokyo') - g * interval '1 hour',
                (now() at time zone 'UTC')::date - g, (now() at time zone 'UTC')::date - g
            from generate_series(0, 100) g;
            """
        try await PurgeBench.with(setup) { bench in
            let moment = try await bench.purge(
                "hc.t",
                "column_name => 'a', older_than => '90 hours 30 min'"
            )
            #expect(moment.report.deleted == 10, "\(moment.error ?? "")")
            let local = try await bench.purge(
                "hc.t",
                "column_name => 'b', older_than => '80 hours 30 min', timezone => 'Asia/Tokyo'"
            )
            #expect(local.report.deleted == 10, "\(local.error ?? "")")
            for (column, left) in [("c", 70), ("d", 60)] {
                let day = try await bench.purge(
                    "hc.t",
                    "column_name => '\(column)', older_than => '\(left) days'"
                )
                #expect(day.report.deleted == 10, "\(day.error ?? "")")
                #expect(try await bench.value("select max(id) from hc.t") == "\(left)")
            }
        }
    }

    @Test func everyRowGoesOnlyOnPurpose() async throws {
        try await PurgeBench.with(Self.items) { bench in
            for (arguments, problem) in [
                ("", "no condition"), ("$$  $$", "the condition is empty"),
                ("$$true$$, all_rows => true", "all_rows goes with no condition"),
                ("column_name => 'at'", "column_name and older_than go together"),
                ("column_name => 'size', older_than => '1 day'", "which has no age"),
                ("column_name => 'nope', older_than => '1 day'", "has no column nope"),
                ("$$true$$, batch => 0", "batch must be between"),
                ("$$true$$, archive => 'a/b'", "an archive file ends in .jsonl.gz"),
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    _ = try await bench.enqueue("hc.item", arguments)
                }
                #expect(error?.message.contains(problem) == true, "\(error?.message ?? "")")
            }
            let job = try await bench.purge("hc.item", "all_rows => true")
            #expect(job.report.deleted == 3000)
        }
    }

    @Test func aLimitIsNeverPassed() async throws {
        try await PurgeBench.with(Self.items) { bench in
            let job = try await bench.purge(
                "hc.item",
                "$$kind = 'old'$$, max_rows => 137, batch => 50"
            )
            #expect(job.state == "completed")
            #expect(job.report.deleted == 137)
            #expect(try await bench.value("select count(*) from hc.item") == "2863")
        }
    }

    @Test func eachPartitionAndEachTableThatInheritsIsWalked() async throws {
        let setup = """
            create schema hc;
            create table hc.p (id int, day date, v int, primary key (id, day)) partition by range (day);
            create table hc.p1 partition of hc.p for values from ('2024-01-01') to ('2025-01-01');
            create table hc.p2 (v int, day date not null, id int not null);
            alter table hc.p attach partition hc.p2 for values from ('2025-01-01') to ('2026-01-01');
            create table hc.p3 partition of hc.p for values from ('2026-01-01') to ('2027-01-01') partition by range (id);
            create table hc.p31 partition of hc.p3 for values from (0) to (5000);
            insert into hc.p select g, '2024-01-01'::date + g, g % 2 from generate_series(1, 1000) g;
            create table hc.base (id int primary key, v int);
            create table hc.kid (more text) inherits (hc.base);
            insert into hc.base select g, g % 2 from generate_series(1, 10) g;
            insert into hc.kid select g, g % 2, 'x' from generate_series(11, 20) g;
            """
        try await PurgeBench.with(setup) { bench in
            let job = try await bench.purge("hc.p", "$$v = 0$$, batch => 64")
            #expect(job.report.deleted == 500, "\(job.error ?? "")")
            #expect(try await bench.value("select count(*) from hc.p where v = 1") == "500")
            #expect(try await bench.changes("delete", "hc.p").count == 500)
            let kids = try await bench.purge("hc.base", "$$v = 0$$")
            #expect(kids.report.deleted == 10, "\(kids.error ?? "")")
            #expect(try await bench.value("select count(*) from only hc.base") == "5")
        }
    }

    /// Statement triggers of the parent and its row security hold only for what goes through it.
    @Test func rowsGoThroughTheParentWhereItsTriggersOrPoliciesWouldElseBeMissed() async throws {
        let setup = """
            create schema hc;
            create table hc.p (a text collate "C", b int, v int, primary key (a, b)) partition by hash (a);
            create table hc.p1 partition of hc.p for values with (modulus 2, remainder 0);
            create table hc.p2 partition of hc.p for values with (modulus 2, remainder 1);
            insert into hc.p select 'k' || g % 50, g, g % 2 from generate_series(1, 1000) g;
            create table hc.seen (n int);
            create function hc.note() returns trigger language plpgsql as $$
            begin insert into hc.seen select count(*) from gone; return null; end $$;
            create trigger note after delete on hc.p referencing old table as gone
            for each statement execute function hc.note();
            """
        try await PurgeBench.with(setup) { bench in
            let job = try await bench.purge("hc.p", "$$v = 0$$, batch => 33")
            #expect(job.report.deleted == 500, "\(job.error ?? "")")
            #expect(try await bench.value("select sum(n) from hc.seen") == "500")
            #expect(try await bench.value("select max(n) from hc.seen") == "33")
            #expect(try await bench.changes("delete", "hc.p").count == 500)
        }
    }

    @Test func whatCannotBePurgedIsNamedBeforeTheFirstRow() async throws {
        let setup = """
            create schema hc;
            create unlogged table hc.u (id int);
            create view hc.v as select 1 as id;
            create table hc.ruled (id int);
            create rule keep as on delete to hc.ruled do instead nothing;
            insert into hc.ruled values (1);
            """
        try await PurgeBench.with(setup) { bench in
            for (table, problem) in [
                ("hc.u", "is unlogged"), ("hc.v", "is not a table"),
                ("hc.ruled", "has a rule for DELETE"),
            ] {
                let job = try await bench.purge(table, "$$id = 1$$")
                #expect(job.state == "discarded")
                #expect(job.error?.contains(problem) == true, "\(job.error ?? "")")
            }
        }
    }

    @Test func aTrackedTableIsToldOfByItsTriggersAlone() async throws {
        try await PurgeBench.with(Self.items + "select bulkhead.track('hc.item')") { bench in
            let job = try await bench.purge("hc.item", "$$kind = 'old'$$")
            #expect(job.report.deleted == 1000)
            #expect(try await bench.changes("delete", "hc.item").count == 1000)
            #expect(try await bench.value("select count(distinct job) from bulkhead.change") == "1")
        }
    }

    @Test func deadRowsAreToldAndVacuumedWhereAsked() async throws {
        try await PurgeBench.with(Self.items) { bench in
            let job = try await bench.purge("hc.item", "$$size < 5$$")
            let share = job.report.deadShare
            #expect(share ?? 0 > 0.4, "\(job.result ?? "")")
            let vacuumed = try await bench.purge("hc.item", "$$size = 5$$, vacuum => true")
            #expect(vacuumed.report.deadShare == 0, "\(vacuumed.result ?? "")")
        }
    }
}
