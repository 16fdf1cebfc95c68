import Bulkhead
import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

/// What others do to a table while it is purged.
@Suite struct PurgeConcurrencyTests {
    /// Four rows a page; every one is old.
    private static let items = """
        create schema hc;
        create table hc.item (id int primary key, kind text, note text);
        alter table hc.item alter note set storage plain;
        insert into hc.item select g, 'old', repeat('x', 1900) from generate_series(1, 200) g;
        """

    @Test func aRowThatAnUpdateMovesIsFoundByTheSweep() async throws {
        try await PurgeBench.with(Self.items + PurgeStop.gate(on: "hc.item")) { bench in
            let id = try await bench.enqueue("hc.item", "$$kind = 'old'$$, batch => 10")
            let stop = try await PurgeStop.start(bench)
            let end = try await bench.value(
                "select pg_relation_size('hc.item') / current_setting('block_size')::int"
            )
            try await bench.database.run("update hc.item set note = note where id > 150")
            // They lie behind the end of the pass.
            #expect(
                try await bench.value(
                    "select min(ctid) >= '(\(end ?? ""),0)' from hc.item where id > 151"
                ) == "t"
            )
            try await stop.finish()
            let job = try await bench.outcome(of: id)
            #expect(job.report.deleted == 200, "\(job.error ?? "")")
            #expect(job.report.left == 0)
            #expect(try await bench.value("select count(*) from hc.item") == "0")
            #expect(try await bench.changes("delete", "hc.item").count == 200)
        }
    }

    /// A way through a table, and what makes a row match no more.
    enum Way: String, CaseIterable, Sendable {
        case pages, index, key

        var setup: String {
            let rows = "insert into hc.t select g, 'old', 1 from generate_series(1, 40) g;"
            let parent = """
                create function hc.nothing() returns trigger language plpgsql as $$ begin return null; end $$;
                create trigger nothing after delete on hc.t for each statement execute function hc.nothing();
                """
            return switch self {
            case .pages:
                "create schema hc; create table hc.t (id int primary key, kind text, v int);" + rows
            case .index:
                """
                create schema hc; create table hc.t (id int primary key, kind text, v int);
                create index on hc.t (v);
                do $$ begin execute format('alter database %I set enable_seqscan = off', current_database()); end $$;
                """ + rows
            case .key:
                """
                create schema hc;
                create table hc.t (id int primary key, kind text, v int) partition by range (id);
                create table hc.t1 partition of hc.t for values from (0) to (1000);
                """ + parent + rows
            }
        }

        var condition: String { self == .index ? "v < 5" : "kind = 'old'" }
        var change: String { self == .index ? "v = 7" : "kind = 'kept'" }
    }

    @Test(arguments: Way.allCases, [false, true])
    func aRowThatMatchesNoMoreOnceItsLockIsFreeSurvives(way: Way, skips: Bool) async throws {
        try await PurgeBench.with(way.setup) { bench in
            let id = try await bench.enqueue("hc.t", "$$\(way.condition)$$, batch => 100")
            let writer = try await bench.database.session()
            try await writer.run("begin; update hc.t set \(way.change) where id = 17")
            let daemon = try await bench.startDaemon { $0.drains = true }
            try await bench.database.waitUntil(
                SQL(
                    unsafe: skips
                        // What waited in vain leaves the row, and takes all others.
                        ? "select rows_done = 39 from bulkhead.job where id = \(id)"
                        : """
                        select exists (select from pg_stat_activity where datname = current_database()
                            and application_name like 'bulkhead worker%' and wait_event_type = 'Lock')
                        """
                )
            )
            try await writer.run("commit")
            try await daemon.wait()
            let job = try await bench.outcome(of: id)
            #expect(job.state == "completed", "\(job.error ?? "")")
            #expect(try await bench.rows("select id from hc.t") == [["17"]])
            #expect(job.report.deleted == 39)
            #expect(job.report.left == 0)
            #expect(try await bench.changes("delete", "hc.t").count == 39)
        }
    }

    @Test(arguments: Way.allCases)
    func aRowThatSomebodyKeepsLockedIsLeftAndNamed(way: Way) async throws {
        try await PurgeBench.with(way.setup) { bench in
            let holder = try await bench.database.session()
            try await holder.run("begin; select from hc.t where id = 17 for update")
            let job = try await bench.purge("hc.t", "$$\(way.condition)$$, batch => 10")
            #expect(job.state == "completed", "\(job.error ?? "")")
            #expect(job.report.deleted == 39)
            #expect(job.report.left == 1)
            #expect(job.report.firstLeft == "hc.t 17")
            await holder.close()
        }
    }

    @Test(arguments: ["vacuum full hc.item", "cluster hc.item using item_pkey", "truncate hc.item"])
    func aTableThatIsWrittenAnewIsWalkedAnew(command: String) async throws {
        // The rows to keep come first, so that all others move when they are gone.
        let setup =
            Self.items
            + "delete from hc.item where id <= 60; update hc.item set kind = 'new' where id between 100 and 119;"
            + PurgeStop.gate(on: "hc.item")
        try await PurgeBench.with(setup) { bench in
            let id = try await bench.enqueue("hc.item", "$$kind = 'old'$$, batch => 10")
            let stop = try await PurgeStop.start(bench)
            try await stop.betweenBatches(of: id) {
                try await bench.database.run(command)
                if command.hasPrefix("truncate") {
                    try await bench.database.run(
                        "insert into hc.item select g, 'old', 'x' from generate_series(1, 30) g"
                    )
                }
            }
            try await stop.finish()
            let job = try await bench.outcome(of: id)
            let isEmptied = command.hasPrefix("truncate")
            #expect(job.state == "completed", "\(job.error ?? "")")
            #expect(job.report.deleted == (isEmptied ? 40 : 120))
            #expect(
                try await bench.value("select count(*) from hc.item") == (isEmptied ? "0" : "20")
            )
            // The pass itself found them all: nothing was left for the sweep.
            #expect(
                try await bench.value(
                    "select checkpoint ->> 'sweep' from bulkhead.job where id = \(id)"
                )
                    == "1"
            )
        }
    }

    @Test(arguments: ["drop table", "alter table hc.p detach partition"])
    func aPartitionThatIsGoneIsNoLongerTheTables(command: String) async throws {
        let setup =
            """
            create schema hc;
            create table hc.p (id int primary key, v int) partition by range (id);
            create table hc.p1 partition of hc.p for values from (0) to (100);
            create table hc.p2 partition of hc.p for values from (100) to (200);
            create table hc.p3 partition of hc.p for values from (200) to (300);
            insert into hc.p select g, 0 from generate_series(1, 299) g;
            """ + PurgeStop.gate(on: "hc.p1")
        try await PurgeBench.with(setup) { bench in
            let id = try await bench.enqueue("hc.p", "$$v = 0$$, batch => 10")
            let stop = try await PurgeStop.start(bench)
            try await stop.betweenBatches(of: id) {
                // The one that is being walked, and one that is still to come.
                try await bench.database.run("\(command) hc.p1")
                try await bench.database.run("\(command) hc.p2")
            }
            try await stop.finish()
            let job = try await bench.outcome(of: id)
            #expect(job.state == "completed", "\(job.error ?? "")")
            #expect(job.report.deleted == 110)
            #expect(job.report.left == 0)
            #expect(try await bench.value("select count(*) from hc.p") == "0")
            if command.hasPrefix("alter") {
                #expect(try await bench.value("select count(*) from hc.p1") == "89")
                #expect(try await bench.value("select count(*) from hc.p2") == "100")
            }
        }
    }

    @Test(arguments: [true, false])
    func aColumnThatIsAddedMeanwhileIsNeverLost(toTable: Bool) async throws {
        let setup = Self.items + PurgeStop.gate(on: "hc.item")
        try await PurgeBench.with(setup) { bench in
            let archive = toTable ? "hc.kept" : "kept.jsonl.gz"
            let id = try await bench.enqueue(
                "hc.item",
                "$$kind = 'old'$$, batch => 10, archive => '\(archive)'"
            )
            let stop = try await PurgeStop.start(bench)
            var before: String?
            try await stop.betweenBatches(of: id) {
                try await bench.database.run(
                    "alter table hc.item add extra text not null default 'x'"
                )
                try await bench.database.run("update hc.item set extra = 'own' || id")
                before = try await bench.checksum("(select id, extra from hc.item)")
            }
            try await stop.finish()
            if toTable {
                let refused = try await bench.outcome(of: id)
                #expect(refused.state == "discarded")
                #expect(refused.error?.contains("extra") == true, "\(refused.error ?? "")")
                #expect(try await bench.checksum("(select id, extra from hc.item)") == before)
                try await bench.database.run("alter table hc.kept add extra text")
                _ = try await bench.value("select bulkhead.retry(\(id))")
                try await bench.drain()
            }
            let job = try await bench.outcome(of: id)
            #expect(job.state == "completed", "\(job.error ?? "")")
            #expect(job.report.deleted == 200)
            let restored = try await bench.restore(id)
            #expect(restored.state == "completed", "\(restored.error ?? "")")
            #expect(
                try await bench.checksum("(select id, extra from hc.item where extra <> 'x')")
                    == before
            )
            #expect(try await bench.value("select count(*) from hc.item") == "200")
        }
    }

    @Test func anOldTransactionHoldsUpNothing() async throws {
        try await PurgeBench.with(Self.items) { bench in
            let old = try await bench.database.session()
            try await old.run("begin isolation level repeatable read; select count(*) from hc.item")
            let job = try await bench.purge("hc.item", "$$id % 2 = 0$$, batch => 7")
            #expect(job.report.deleted == 100, "\(job.error ?? "")")
            #expect(try await old.value("select count(*) from hc.item") == "200")
        }
    }

    /// For each row that goes, another one comes.
    @Test func rowsThatArriveDoNotKeepAPurgeFromEnding() async throws {
        let setup = """
            create schema hc;
            create table hc.item (id int generated always as identity primary key, kind text);
            insert into hc.item (kind) select 'old' from generate_series(1, 300);
            do $$ begin execute format('alter database %I set enable_seqscan = off', current_database()); end $$;
            create function hc.refill() returns trigger language plpgsql as $$
            begin insert into hc.item (kind) select kind from gone; return null; end $$;
            create trigger refill after delete on hc.item referencing old table as gone
            for each statement execute function hc.refill();
            """
        try await PurgeBench.with(setup) { bench in
            let job = try await bench.purge("hc.item", "$$id > 0$$, batch => 20")
            #expect(job.state == "completed", "\(job.error ?? "")")
            #expect(job.report.deleted >= 300)
            #expect(try await bench.value("select count(*) from hc.item where id <= 300") == "0")
            #expect(try await bench.value("select count(*) from hc.item") == "300")
        }
    }
}
