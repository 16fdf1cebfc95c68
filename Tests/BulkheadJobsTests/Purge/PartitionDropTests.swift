import Bulkhead
import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

/// Partitions that are old as a whole are dropped, and all others are purged row by row.
@Suite struct PartitionDropTests {
    /// A hundred rows in each of three years; those of the last are partly new.
    private static let log = """
        create schema hc;
        create table hc.log (id int, at date not null, primary key (id, at)) partition by range (at);
        create table hc.log1 partition of hc.log for values from (minvalue) to ('2001-01-01');
        create table hc.log2 partition of hc.log for values from ('2001-01-01') to ('2002-01-01');
        create table hc.log3 partition of hc.log for values from ('2002-01-01') to (maxvalue);
        insert into hc.log select g, date '2000-01-01' + g from generate_series(1, 100) g;
        insert into hc.log select g, date '2001-01-01' + g from generate_series(101, 200) g;
        insert into hc.log select g, case when g <= 250 then date '2002-01-01' + g else current_date end
        from generate_series(201, 300) g;
        """
    private static let options =
        "column_name => 'at', older_than => '1 year', drop_partitions => true, batch => 30"

    private func partitions(_ bench: PurgeBench) async throws -> [[String?]] {
        try await bench.rows(
            "select relname from pg_class where relnamespace = 'hc'::regnamespace and relispartition and relkind in ('r', 'p') order by 1"
        )
    }

    @Test(arguments: [false, true])
    func partitionsThatTheAgeCoversAreDroppedWhole(hasDefault: Bool) async throws {
        let setup =
            hasDefault
            ? Self.log.replacing(
                "for values from ('2002-01-01') to (maxvalue)",
                with: "default"
            ) : Self.log
        try await PurgeBench.with(setup) { bench in
            let job = try await bench.purge("hc.log", Self.options)
            #expect(job.state == "completed", "\(job.error ?? "")")
            #expect(job.report.droppedPartitions == 2)
            #expect(job.report.deleted == 250)
            #expect(try await partitions(bench) == [["log3"]])
            #expect(try await bench.value("select to_regclass('hc.log1') is null") == "t")
            #expect(try await bench.value("select count(*) from hc.log") == "50")
            // Nobody names the rows of a dropped partition: readers read again.
            #expect(try await bench.changes("reset", "hc.log") == ["all", "all"])
            #expect(try await bench.changes("delete", "hc.log").count == 50)
        }
    }

    @Test func aPartitionOfPartitionsGoesWithAllOfThem() async throws {
        let setup =
            Self.log + """
                drop table hc.log1;
                create table hc.log1 partition of hc.log for values from (minvalue) to ('2001-01-01')
                    partition by range (id);
                create table hc.log11 partition of hc.log1 for values from (0) to (50);
                create table hc.log12 partition of hc.log1 for values from (50) to (500);
                insert into hc.log select g, date '2000-01-01' + g from generate_series(1, 100) g;
                """
        try await PurgeBench.with(setup) { bench in
            let job = try await bench.purge("hc.log", Self.options)
            #expect(job.report.deleted == 250, "\(job.error ?? "")")
            #expect(try await partitions(bench) == [["log3"]])
        }
    }

    /// The session that detaches is ended while it waits for a reader; what it began is finished.
    @Test func aDetachThatWasCutOffIsFinished() async throws {
        try await PurgeBench.with(Self.log) { bench in
            let reader = try await bench.database.session()
            try await reader.run("begin; select count(*) from hc.log")
            let id = try await bench.enqueue("hc.log", Self.options)
            let daemon = try await bench.startDaemon { $0.drains = true }
            try await bench.database.waitUntil(
                "select exists (select from pg_inherits where inhrelid = 'hc.log1'::regclass and inhdetachpending)"
            )
            _ = try await bench.rows(
                """
                select pg_terminate_backend(pid) from pg_stat_activity
                where datname = current_database() and query like '%detach partition%concurrently%'
                    and pid <> pg_backend_pid()
                """
            )
            await reader.close()
            try await daemon.wait()
            let job = try await bench.outcome(of: id)
            #expect(job.state == "completed", "\(job.error ?? "")")
            #expect(job.report.droppedPartitions == 2)
            #expect(job.report.deleted == 250)
            #expect(try await partitions(bench) == [["log3"]])
        }
    }

    @Test func rowsThatOthersReferToKeepTheirPartition() async throws {
        let setup =
            Self.log + """
                create table hc.use (id int primary key, log int, at date, foreign key (log, at) references hc.log);
                create index on hc.use (log, at);
                insert into hc.use select id, id, at from hc.log where id in (7, 8);
                """
        try await PurgeBench.with(setup) { bench in
            let job = try await bench.purge("hc.log", Self.options)
            #expect(job.state == "completed", "\(job.error ?? "")")
            #expect(job.report.droppedPartitions == 1)
            #expect(job.report.deleted == 248)
            #expect(job.report.blocked == 2)
            #expect(try await partitions(bench) == [["log1"], ["log3"]])
            #expect(try await bench.value("select count(*) from hc.log1") == "2")
        }
    }

    /// What depends on a partition by itself keeps it too.
    @Test(arguments: [
        "create view hc.seen as select * from hc.log1",
        "create table hc.use (id int primary key, log int, at date, foreign key (log, at) references hc.log1)",
    ])
    func whatDependsOnAPartitionKeepsIt(statement: String) async throws {
        try await PurgeBench.with(Self.log + statement) { bench in
            let job = try await bench.purge("hc.log", Self.options)
            #expect(job.state == "completed", "\(job.error ?? "")")
            #expect(job.report.droppedPartitions == 1)
            #expect(job.report.deleted == 250)
            #expect(try await partitions(bench) == [["log1"], ["log3"]])
        }
    }

    @Test func whatCannotBeDroppedIsRefusedBeforeTheFirstRow() async throws {
        let setup =
            Self.log + """
                create table hc.plain (id int, at date);
                create table hc.two (at date, more date) partition by range (at, more);
                create table hc.two1 partition of hc.two for values from ('2000-01-01', minvalue) to ('2001-01-01', minvalue);
                create table hc.other (at date, more date) partition by range (more);
                create table hc.other1 partition of hc.other for values from ('2000-01-01') to ('2001-01-01');
                """
        try await PurgeBench.with(setup) { bench in
            for (table, problem) in [
                ("hc.plain", "has no partitions to drop"), ("hc.two", "by ranges of at alone"),
                ("hc.other", "by ranges of at alone"),
            ] {
                let job = try await bench.purge(table, Self.options)
                #expect(job.state == "discarded")
                #expect(job.error?.contains(problem) == true, "\(job.error ?? "")")
            }
            try await LimitedRole.with(in: bench.database) { role in
                try await bench.database.run(
                    "grant usage on schema hc to \(role.name); grant select, delete on hc.log to \(role.name)"
                )
                let id = try await bench.enqueue("hc.log", Self.options)
                try await bench.drain { $0.address = role.address }
                let job = try await bench.outcome(of: id)
                #expect(job.error?.contains("only the owner") == true, "\(job.error ?? "")")
                #expect(try await bench.value("select count(*) from hc.log") == "300")
            }
        }
    }
}
