import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

/// What others do to the table itself while it is purged, and conditions that a purge would change under its own feet.
@Suite struct MovedTableTests {
    private static let setup = """
        create schema hc;
        create table hc.t (id int primary key, v int);
        insert into hc.t select g, g from generate_series(1, 1000) g;
        create function hc.swap() returns trigger language plpgsql as $$
        begin perform pg_advisory_xact_lock_shared(4711); return null; end $$;
        """

    @Test(arguments: [
        "v > (select avg(v) from hc.t)", "id in (select max(id) from t group by v % 10)",
        "exists (select from hc.seen s where s.id = t.id + 1)",
        "not exists (select from hc.part p where p.id = t.id)",
    ])
    func aConditionThatLooksAtOtherRowsOfTheTableIsRefused(condition: String) async throws {
        let views = """
            create view hc.raw as select * from hc.t;
            create view hc.seen as select * from hc.raw;
            create table hc.part () inherits (hc.t);
            """
        try await PurgeBench.with(Self.setup + views) { bench in
            let session = try await bench.database.session()
            try await session.run("set search_path = hc")
            _ = try await session.value("select bulkhead.purge('hc.t', $$\(unsafe: condition)$$)")
            try await bench.drain()
            let job = try await bench.outcome(of: 1)
            #expect(job.state == "discarded")
            #expect(
                job.error?.contains("looks at other rows of hc.t") == true,
                "\(job.error ?? "")"
            )
            #expect(try await bench.value("select count(*) from hc.t") == "1000")
        }
    }

    @Test(
        arguments: [
            "alter table hc.t rename to old; create table hc.t (id int primary key, v int); insert into hc.t select g, g from generate_series(1, 1000) g",
            "drop table hc.t", "alter table hc.t rename to old",
        ],
        [false, true]
    )
    func aTableThatIsReplacedEndsThePurge(change: String, archives: Bool) async throws {
        try await PurgeBench.with(Self.setup) { bench in
            let archive = archives ? ", archive => 'hc.kept'" : ""
            let id = try await bench.enqueue(
                "hc.t",
                "$$v > 0$$, batch => 10, limits => '{\"nice\": 1}'\(archive)"
            )
            let daemon = try await bench.startDaemon()
            try await bench.database.waitUntil("select rows_done > 50 from bulkhead.job")
            let session = try await bench.database.session()
            try await session.run("begin; \(change); commit")
            try await bench.database.waitUntil(
                "select state not in ('running', 'available') from bulkhead.job"
            )
            try await daemon.stop()
            let job = try await bench.outcome(of: id)
            #expect(job.state == "discarded")
            #expect(
                job.error?.contains("hc.t was dropped, renamed or replaced while it was purged")
                    == true,
                "\(job.error ?? "")"
            )
            if change.contains("create table") {
                #expect(try await bench.value("select count(*) from hc.t") == "1000")
            }
            if archives, change.contains("rename") {
                let whole = try await bench.value(
                    "select (select count(*) from hc.old) + (select count(*) from hc.kept)"
                )
                #expect(whole == "1000")
            }
        }
    }

    @Test(arguments: [
        ("pg_catalog.pg_class", "$$relname = 'x'$$", "is a table of the system"),
        ("bulkhead.job", "all_rows => true", "is a table of the system"),
        (
            "hc.t",
            "column_name => 'd', older_than => '1 day', drop_partitions => true, max_rows => 3",
            "exclude each other"
        ),
        ("hc.t", "$$true$$, archive => 'x.jsonl'", "an archive file ends in .jsonl.gz"),
        ("hc t", "all_rows => true", "this is no name of a table: hc t"),
        ("hc.t", "all_rows => true, limits => '{\"nice\": -1}'", "nice"),
    ])
    func whatNobodyMeansIsRefusedAtOnce(table: String, arguments: String, problem: String)
        async throws
    {
        try await PurgeBench.with(Self.setup + "alter table hc.t add column d date") { bench in
            let error = await #expect(throws: PostgresError.self) {
                _ = try await bench.enqueue(table, arguments)
            }
            #expect(error?.message.contains(problem) == true, "\(error?.message ?? "")")
        }
    }

    @Test func aNumberThatIsTooSmallToMatterIsZero() async throws {
        try await PurgeBench.with(Self.setup) { bench in
            let job = try await bench.purge("hc.t", "$$v = 1$$, limits => '{\"nice\": 1e-400}'")
            #expect(job.state == "completed", "\(job.error ?? "")")
        }
    }

    @Test func anArchiveTableIsNotMadeForTablesThatInheritMore() async throws {
        let setup = Self.setup + "create table hc.kid (extra int) inherits (hc.t)"
        try await PurgeBench.with(setup) { bench in
            let job = try await bench.purge("hc.t", "$$v = 1$$, archive => 'hc.kept'")
            #expect(job.state == "discarded")
            #expect(
                job.error?.contains("hc.kid inherits from hc.t and has a column of its own, extra")
                    == true,
                "\(job.error ?? "")"
            )
            #expect(try await bench.value("select count(*) from hc.t") == "1000")
        }
    }
}
