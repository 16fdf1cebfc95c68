import Bulkhead
import BulkheadTesting
import Foundation
import Postgres
import Testing

@testable import BulkheadJobs

@Suite struct BackfillStepTests {
    private static let flights = """
        create table flights (id bigint primary key, miles int, km int);
        insert into flights select n, n from generate_series(1, 5000) n
        """
    private static let km =
        "-- bulkhead: backfill flights batch=300\nupdate flights set km = miles * 2 where {batch}"

    @Test func everyRowIsChangedOnceInBatchesAndItsIdPublished() async throws {
        try await MigrationScene.with(Self.flights) { scene in
            let ending = try await scene.migrate([("1_km.sql", Self.km)])
            #expect(
                ending
                    == .init(
                        state: "completed",
                        error: nil,
                        result: #"{"rows": 5000, "files": ["1_km.sql"], "steps": 1}"#
                    )
            )
            try await scene.expect(
                "select count(*) from flights where km is distinct from miles * 2",
                "0"
            )
            try await scene.expect("select count(distinct xmin::text) > 10 from flights", "t")
            #expect(
                try await scene.database.rows(
                    """
                    select operation, relation, count(key), count(distinct key) from bulkhead.change,
                        jsonb_array_elements_text(ids) as e (key) group by 1, 2
                    """
                ) == [["update", "public.flights", "5000", "5000"]]
            )
            #expect(
                try await scene.database.rows("select rows, state from bulkhead.migration") == [
                    ["5000", "applied"]
                ]
            )
            try await scene.expect("select rows_done from bulkhead.job", "5000")
        }
    }

    @Test func onATrackedTableTheTriggersTell() async throws {
        try await MigrationScene.with(Self.flights + "; select bulkhead.track('flights')") {
            scene in
            try await scene.apply([("1_km.sql", Self.km)])
            try await scene.expect(
                "select count(key) from bulkhead.change, jsonb_array_elements_text(ids) as e (key)",
                "5000"
            )
        }
    }

    @Test func whatTheStatementHasItsOwnReturningForIsToBeReadAgain() async throws {
        try await MigrationScene.with(Self.flights) { scene in
            try await scene.apply([("1_km.sql", Self.km + " returning 1")])
            try await scene.expect(
                "select string_agg(distinct operation, ',') from bulkhead.change",
                "reset"
            )
        }
    }

    @Test func theBoundIsFixedAtTheStartWhateverComesLater() async throws {
        try await MigrationScene.with(
            """
            create table n (id int primary key, done int not null default 0);
            insert into n select g from generate_series(1, 100) g;
            create function more() returns trigger language plpgsql as $$
            begin insert into n select max(id) + 1 from n; return null; end $$;
            create trigger more after update on n for each statement execute function more()
            """
        ) { scene in
            try await scene.apply([
                (
                    "1_n.sql",
                    "-- bulkhead: backfill n batch=7\nupdate n set done = done + 1 where {batch}"
                )
            ])
            try await scene.expect(
                "select count(*) || ' ' || max(done) || ' ' || max(id) from n where done > 0",
                "100 1 100"
            )
        }
    }

    @Test func aTableWithoutAKeyIsWalkedByPagesUntilAllIsTrue() async throws {
        try await MigrationScene.with(
            """
            create table k (a int, n int not null default 0, pad text default repeat('x', 500)) with (fillfactor = 100);
            insert into k (a) select case when g % 3 > 0 then g end from generate_series(1, 3000) g
            """
        ) { scene in
            let refused = try await scene.migrate(
                [("1_k.sql", "-- bulkhead: backfill k\nupdate k set n = n + 1 where {batch}")]
            )
            #expect(
                refused.error?.contains("has no unique key without NULLs") == true,
                "\(refused.error ?? "")"
            )
            try await scene.apply([
                (
                    "1_k.sql",
                    "-- bulkhead: backfill k until n > 0\nupdate k set n = n + 1 where {batch}"
                )
            ])
            try await scene.expect(
                "select min(n) || ' ' || max(n) || ' ' || count(*) from k",
                "1 1 3000"
            )
        }
    }

    @Test func rowsThatStayWrongAreCountedAndNamed() async throws {
        try await MigrationScene.with(Self.flights) { scene in
            let ending = try await scene.migrate([
                (
                    "1_km.sql",
                    "-- bulkhead: backfill flights until km is not null\n"
                        + "update flights set km = miles * 2 where {batch} and id not in (17, 4711)"
                )
            ])
            #expect(
                ending.error?.contains(
                    "2 rows of public.flights up to the bound fail `km is not null` still, the first of them 17; 4711"
                )
                    == true,
                "\(ending.error ?? "")"
            )
            try await scene.expect("select count(*) from flights where km is null", "2")
        }
    }

    @Test func aKeyThatTheStatementChangesIsRefused() async throws {
        try await MigrationScene.with(Self.flights) { scene in
            let ending = try await scene.migrate(
                [
                    (
                        "1_km.sql",
                        "-- bulkhead: backfill flights\nupdate flights f set km = 1, id = f.id + 10000 where {batch}"
                    )
                ]
            )
            #expect(
                ending.error?.contains("the statement changes id") == true,
                "\(ending.error ?? "")"
            )
        }
    }

    @Test func aBadRowStopsItAndTheMendedStatementGoesOnFromThere() async throws {
        try await MigrationScene.with(
            Self.flights + "; update flights set miles = 0 where id = 2000"
        ) { scene in
            func text(_ value: String) -> String {
                "-- bulkhead: backfill flights batch=100\nupdate flights set km = coalesce(km, 0) + \(value) where {batch}"
            }
            let ending = try await scene.migrate([("1_km.sql", text("1000 / miles"))])
            #expect(
                ending.error?.hasPrefix("1_km.sql line 2: division by zero") == true,
                "\(ending.error ?? "")"
            )
            try await scene.expect("select count(*) from flights where km is not null", "1900")
            try await scene.apply([("1_km.sql", text("1000 / greatest(miles, 1)"))])
            try await scene.expect(
                "select count(*) from flights where km = 1000 / greatest(miles, 1)",
                "5000"
            )
        }
    }

    /// Splitting a table, merging columns and mapping keys: the statement may read one table and change another.
    @Test func rowsGoFromOneTableIntoAnother() async throws {
        try await MigrationScene.with(
            """
            create table person (id int primary key, name text, street text, town text);
            insert into person select g, 'p' || g, case when g % 2 = 0 then 's' || g end, 't' from generate_series(1, 500) g;
            create table address (person int primary key references person, line text not null)
            """
        ) { scene in
            try await scene.apply([
                (
                    "1_split.sql",
                    """
                    -- bulkhead: backfill person batch=50
                    insert into address (person, line)
                    select p.id, p.street || ', ' || p.town from person p where {batch} and p.street is not null;
                    """
                )
            ])
            try await scene.expect(
                "select count(*) from address where line = 's' || person || ', t'",
                "250"
            )
            try await scene.expect(
                "select count(key) from bulkhead.change, jsonb_array_elements(ids) as e (key) where relation = 'public.address' and operation = 'insert'",
                "250"
            )
        }
    }

    @Test func aPartitionedTableWithACompositeKeyIsWalkedAsOne() async throws {
        try await MigrationScene.with(
            """
            create table m (day date, id int, v int, primary key (day, id)) partition by range (day);
            create table m1 partition of m for values from ('2026-01-01') to ('2026-02-01');
            create table m2 partition of m for values from ('2026-02-01') to ('2026-03-01');
            insert into m select '2026-01-01'::date + g % 40, g, 0 from generate_series(1, 1000) g
            """
        ) { scene in
            try await scene.apply([
                (
                    "1_m.sql",
                    "-- bulkhead: backfill m batch=33\nupdate m set v = v + 1 where {batch}"
                )
            ])
            try await scene.expect(
                "select min(v) || ' ' || max(v) || ' ' || count(*) from m",
                "1 1 1000"
            )
        }
    }

    // MARK: Cases

    @Test func rowsThatAreLockedAreWaitedFor() async throws {
        let files = try CaseFolder("FC-110")
        try await MigrationScene.with(try files.text("setup.sql")) { scene in
            let holder = try await scene.database.session()
            try await holder.run("begin; select * from hc.bf where id between 60 and 69 for update")
            let job = try await scene.enqueue(
                [
                    (
                        "1_bf.sql",
                        "-- bulkhead: backfill hc.bf batch=50\nupdate hc.bf set dst = src * 2 where {batch}"
                    )
                ]
            )
            let daemon = try await TestDaemon.start(scene.database, [MigrationHandler()]) {
                $0.drains = true
            }
            try await scene.database.waitUntil(
                "select rows_done = 50 from bulkhead.job where id = \(job)"
            )
            try await scene.database.run(
                """
                insert into hc.bf (id, src, dst) select g, g, 0 from generate_series(2000, 2010) g
                union all select g, g, 0 from generate_series(-5, 0) g
                """
            )
            try await scene.database.waitUntil(
                "select waiting like 'a lock on%' from bulkhead.job where id = \(job)"
            )
            try await holder.run("rollback")
            try await daemon.wait()
            #expect(try await scene.ending(of: job).state == "completed")
            try await scene.database.run("delete from hc.bf where id not between 1 and 1000")
            #expect(
                try await scene.database.rows(.init(unsafe: try files.text("check.sql")))
                    == files.rows("expected.txt")
            )
        }
    }

    /// Two rows that cannot both be there, whether they come together or one after the copy of its batch.
    @Test(arguments: [false, true])
    func rowsThatCollideFailTheJobBeforeTheSwap(comesLate: Bool) async throws {
        let files = try CaseFolder("FC-118")
        let late = """
            ; delete from hc.src where id = 3;
            create function hc.late() returns trigger language plpgsql as $$
            begin
                if new.id = 4 then insert into hc.src values (3, 'a@example.test'); end if;
                return null;
            end $$;
            create trigger late after insert on hc.dst for each row execute function hc.late()
            """
        try await MigrationScene.with(try files.text("setup.sql") + (comesLate ? late : "")) {
            scene in
            let ending = try await scene.migrate([
                (
                    "1_copy.sql",
                    """
                    -- bulkhead: backfill hc.src until exists (select from hc.dst d where d.id = s.id)
                    insert into hc.dst select s.* from hc.src s where {batch};
                    -- bulkhead: transaction
                    alter table hc.src rename to gone; alter table hc.dst rename to src
                    """
                )
            ])
            #expect(ending.state == "discarded")
            #expect(ending.error?.contains("Key (email)=(a@example.test) already exists.") == true)
            #expect(ending.error?.contains("the keys are 1 and 3") == true, "\(ending.error ?? "")")
            try await scene.expect("select count(*) from hc.src", "4")
            if !comesLate {
                #expect(
                    try await scene.database.rows("select count(*) from hc.src")
                        + scene.database.rows("select id, email from hc.dst")
                        == files.rows("expected-failed.txt")
                )
            }
        }
    }

    @Test func placesAreKeptInFullWhateverTheirType() async throws {
        let files = try CaseFolder("FC-116")
        try await MigrationScene.with { scene in
            // Some servers are built without ICU.
            let icu = "provider=icu, locale='und'"
            let hasICU = try await scene.database.value(
                "select count(*) > 1 from pg_collation where collprovider = 'i'"
            )
            let setUp = try files.text("setup.sql")
            try await scene.database.run(
                hasICU == "t"
                    ? setUp : setUp.replacingOccurrences(of: icu, with: "provider=libc, locale='C'")
            )
            let tables = ["us", "fl", "tx", "by", "uu"]
            let job = try await scene.enqueue(
                tables.enumerated().map { number, table in
                    (
                        "\(number + 1)_\(table).sql",
                        "-- bulkhead: backfill hc.\(table) batch=3\nupdate hc.\(table) set done = done + 1 where {batch}"
                    )
                }
            )
            // Each daemon is stopped in the middle, and hands the job back.
            for moment in [5, 333, 1000, 1250, 1310, 1400] {
                let daemon = try await TestDaemon.start(scene.database, [MigrationHandler()])
                try await scene.database.waitUntil(
                    "select rows_done >= \(moment) from bulkhead.job where id = \(job)"
                )
                try await daemon.stop()
            }
            try await scene.drain()
            #expect(try await scene.ending(of: job).state == "completed")
            #expect(
                try await scene.database.rows(.init(unsafe: try files.text("check.sql")))
                    == files.rows("expected.txt")
            )
        }
    }
}

/// The files of a case.
struct CaseFolder {
    private let folder: URL

    init(_ name: String) throws {
        folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent()
            .appendingPathComponent("Cases/\(name)")
    }

    func text(_ name: String) throws -> String {
        try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
    }

    /// Rows as psql prints them without alignment.
    func rows(_ name: String) throws -> [[String?]] {
        try text(name).split(separator: "\n").map { line in
            line.split(separator: "|", omittingEmptySubsequences: false).map { String($0) }
        }
    }
}
