import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

/// Tables that others change, rows and all, while an import fills them.
@Suite struct LiveTableTests {
    static let table = """
        create schema hc; create table hc.t (id int primary key, v int, s text);
        insert into hc.t select n, null, 'old' from generate_series(1, 10) n;
        """
    private static let rows = (1...12).map { "\($0),\($0 * 10)\n" }

    /// Runs a command behind the second batch, inside its transaction.
    private static func afterTwoBatches(_ command: String) -> String {
        """
        create function hc.meddle() returns trigger language plpgsql as $$
        begin \(command); return null; end $$;
        create trigger meddle after update on bulkhead.job for each row
        when (new.batches = 2 and old.batches = 1) execute function hc.meddle();
        """
    }

    @Test func aTriggerMadeMeanwhileDropsRowsThatAreNotTakenForThere() async throws {
        let setup = """
            create schema hc; create table hc.t (id int primary key, v int);
            create function hc.odd() returns trigger language plpgsql as
            'begin if new.id % 2 = 0 then return null; end if; return new; end';
            """
        let made = Self.afterTwoBatches(
            "create trigger odd before insert on hc.t for each row execute function hc.odd()"
        )
        try await ImportBench.with(setup + made) { bench in
            let text = "id,v\n" + Self.rows.joined()
            let job = try await bench.load("hc.t", text, "batch => 3")
            #expect(job.state == "completed", "\(job.error ?? "")")
            #expect(job.totals == ImportTotals(read: 12, inserted: 9, skipped: 3))
            let there = try await bench.rows("select id from hc.t").map { $0[0] ?? "" }
            #expect(try job.ids == there.sorted())
        }
    }

    @Test(arguments: [
        ("drop table hc.t", "does not exist"),
        ("alter table hc.t rename to gone", "does not exist"),
        ("alter table hc.t drop column v", "column \"v\""),
    ])
    func aTableThatNoLongerFitsFailsTheJobAndKeepsWhatIsIn(change: String, says: String)
        async throws
    {
        try await ImportBench.with(Self.table + Self.afterTwoBatches(change)) { bench in
            let text = "id,v\n" + Self.rows.joined()
            let job = try await bench.load("hc.t", text, "batch => 3, on_conflict => 'update'")
            #expect(job.state == "discarded")
            #expect(job.error?.contains(says) == true, "\(job.error ?? "")")
            #expect(job.totals == ImportTotals(read: 6, updated: 6))
        }
    }

    @Test func aTableMayGrowColumnsMeanwhile() async throws {
        let change = Self.afterTwoBatches("alter table hc.t add column more int default 7")
        try await ImportBench.with(Self.table + change) { bench in
            let text = "id,v\n" + Self.rows.joined()
            let job = try await bench.load("hc.t", text, "batch => 3, on_conflict => 'update'")
            #expect(
                job.totals == ImportTotals(read: 12, inserted: 2, updated: 10),
                "\(job.error ?? "")"
            )
        }
    }

    /// Another session has changed one row of the batch, removed one and added one, and commits while the
    /// batch waits for it.
    @Test(arguments: ["skip", "fill", "update", "replace"], [0, 1, 2, 3])
    func rowsThatOthersChangeAtTheSameTimeAreNotLost(policy: String, form: Int) async throws {
        let json = form % 2 == 1
        let partitions = form < 2 ? "" : "partition by range (id)"
        let setup = """
            create schema hc; create table hc.t (id int primary key, v int, s text) \(partitions);
            \(partitions.isEmpty ? "" : "create table hc.p partition of hc.t default;")
            insert into hc.t select n, null, 'old' from generate_series(1, 10) n;
            """
        try await ImportBench.with(setup) { bench in
            let other = try await bench.database.session()
            _ = try await other.value("begin")
            _ = try await other.value("update hc.t set v = -3, s = 'theirs' where id = 3")
            _ = try await other.value("delete from hc.t where id = 4")
            _ = try await other.value("insert into hc.t values (11, -11, 'theirs')")
            // Of every third row nothing is said of v.
            let lines = (1...12).map {
                $0 % 3 == 1 ? "{\"id\":\($0)}\n" : "{\"id\":\($0),\"v\":\($0 * 10)}\n"
            }
            let file = json ? "in.jsonl" : "in.csv"
            try bench.folder.write(json ? lines.joined() : "id,v\n" + Self.rows.joined(), to: file)
            let id = try await bench.enqueue("hc.t", files: [file], "on_conflict => '\(policy)'")
            let daemon = try await bench.startDaemon()
            try await bench.database.waitUntil(
                """
                select exists (select from pg_stat_activity where datname = current_database()
                    and wait_event_type = 'Lock' and application_name like 'bulkhead worker%')
                """
            )
            _ = try await other.value("commit")
            await other.close()
            try await bench.database.waitUntil("select state = 'completed' from bulkhead.job")
            try await daemon.stop()
            let totals = try await bench.outcome(of: id).totals
            #expect(
                [
                    totals.read,
                    totals.inserted + totals.updated + totals.unchanged + totals.skipped,
                    totals.rejected,
                ] == [12, 12, 0]
            )
            let stored = try await bench.rows(
                "select id, coalesce(v::text, ''), coalesce(s, '') from hc.t order by id"
            ).map { $0.map { $0 ?? "" }.joined(separator: " ") }
            #expect(stored == Self.expected(policy, json: json), "\(totals)")
        }
    }

    /// What the rows are when the import comes after the other session.
    private static func expected(_ policy: String, json: Bool) -> [String] {
        (1...12).map { id in
            let isSaid = !json || id % 3 != 1
            let own = isSaid ? "\(id * 10)" : ""
            let isThere = id < 11 && id != 4
            switch id {
            case 3, 11:
                if policy == "update" { return "\(id) \(own) theirs" }
                if policy == "replace" { return "\(id) \(own) " }
                return "\(id) -\(id) theirs"
            case _ where !isThere: return "\(id) \(own) "
            case _ where policy == "skip": return "\(id)  old"
            case _ where policy == "replace": return "\(id) \(own) "
            default: return "\(id) \(own) old"
            }
        }
    }

    @Test func ofTwoSessionsThatWaitForEachOtherOneGoesOnAndTheImportLoadsAll() async throws {
        try await ImportBench.with(Self.table) { bench in
            let other = try await bench.database.session()
            _ = try await other.value("begin")
            _ = try await other.value("update hc.t set s = 'theirs' where id = 9")
            let text = "id,v\n" + Self.rows.joined()
            let id = try await bench.enqueue("hc.t", text: text, "on_conflict => 'update'")
            let daemon = try await bench.startDaemon()
            try await bench.database.waitUntil(
                """
                select exists (select from pg_stat_activity where datname = current_database()
                    and wait_event_type = 'Lock' and application_name like 'bulkhead worker%')
                """
            )
            do {
                _ = try await other.value("update hc.t set s = 'theirs' where id = 1")
                _ = try await other.value("commit")
            } catch let error as PostgresError {
                #expect(error.state?.rawValue == "40P01")
                _ = try await other.value("rollback")
            }
            await other.close()
            try await bench.database.waitUntil("select state = 'completed' from bulkhead.job")
            try await daemon.stop()
            let job = try await bench.outcome(of: id)
            #expect(job.totals == ImportTotals(read: 12, inserted: 2, updated: 10))
            #expect(try await bench.value("select count(*) from hc.t where v = id * 10") == "12")
        }
    }
}
