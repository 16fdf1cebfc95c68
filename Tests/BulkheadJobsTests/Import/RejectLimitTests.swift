import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

/// How many rejects a job may have, and what is left when it has more.
@Suite struct RejectLimitTests {
    static let table = """
        create schema hc;
        create table hc.t (id int primary key, n int check (n > 0));
        """

    /// Rows whose number is among the bad ones cannot be read as numbers.
    private func text(_ rows: Int, bad: Set<Int>) -> String {
        "id,n\n" + (1...rows).map { bad.contains($0) ? "\($0),x\n" : "\($0),1\n" }.joined()
    }

    @Test(arguments: [1, 2, 3, 1000])
    func asManyAsAllowedCompleteAndOneMoreFails(batch: Int) async throws {
        try await ImportBench.with(Self.table) { bench in
            let text = text(9, bad: [2, 5, 8])
            let enough = try await bench.load("hc.t", text, "max_rejects => 3, batch => \(batch)")
            #expect(enough.state == "completed")
            #expect(enough.totals == ImportTotals(read: 9, inserted: 6, rejected: 3))
            #expect(enough.rejects.map(\.line) == [3, 6, 9])
            try await bench.database.run("truncate hc.t")
            let tooFew = try await bench.load("hc.t", text, "max_rejects => 2, batch => \(batch)")
            #expect(tooFew.state == "discarded")
            #expect(tooFew.attempt == 1)
            #expect(tooFew.rejects.map(\.line) == [3, 6, 9])
            #expect(tooFew.totals.read == tooFew.totals.inserted + tooFew.totals.rejected)
            #expect(
                try await bench.value("select count(*) from hc.t") == "\(tooFew.totals.inserted)"
            )
        }
    }

    /// The values are looked at before the constraints, so line 5 is found before line 3.
    @Test func theErrorNamesTheFirstByLineThoughALaterOneIsFoundFirst() async throws {
        try await ImportBench.with(Self.table) { bench in
            let text = "id,n\n1,1\n2,-1\n3,1\n4,x\n5\n"
            let job = try await bench.load("hc.t", text)
            #expect(job.position == "in.csv line 3")
            #expect(job.sqlstate == "23514")
            #expect(job.error?.hasPrefix("in.csv line 3: ") == true, "\(job.error ?? "")")
            #expect(job.error?.contains("bulkhead rejects \(job.id)") == true)
            #expect(try await bench.value("select count(*) from hc.t") == "0")
            let one = try await bench.load("hc.t", text, "max_rejects => 1")
            #expect(one.position == "in.csv line 3")
            #expect(one.error?.contains("more than --max-rejects 1") == true, "\(one.error ?? "")")
        }
    }

    /// A conflict before the first reject comes first; one behind it does not matter.
    @Test func aConflictAndARejectGoByTheirLines() async throws {
        try await ImportBench.with(Self.table + "insert into hc.t values (2, 7)") { bench in
            let conflictFirst = try await bench.load("hc.t", "id,n\n1,1\n2,1\n3,x\n")
            #expect(conflictFirst.sqlstate == "23505")
            #expect(conflictFirst.position == "in.csv line 3")
            let rejectFirst = try await bench.load("hc.t", "id,n\n1,x\n2,1\n3,1\n")
            #expect(rejectFirst.sqlstate == "22P02")
            #expect(rejectFirst.position == "in.csv line 2")
        }
    }

    /// An attempt that failed after its rejects were kept leaves none for the next one to double.
    @Test func rejectsAreNotDoubledByAnotherAttempt() async throws {
        try await ImportBench.with(Self.table) { bench in
            let text = text(9, bad: [2, 5, 8])
            let failed = try await bench.load("hc.t", text, "max_rejects => 2, batch => 3")
            #expect(failed.rejects.map(\.line) == [3, 6, 9])
            try await bench.database.run(
                """
                update bulkhead.job set state = 'available', finished_at = null,
                    args = args || '{"max_rejects": 3}'
                """
            )
            try await bench.drain()
            let job = try await bench.outcome(of: failed.id)
            #expect(job.state == "completed", "\(job.error ?? "")")
            #expect(job.rejects.map(\.line) == [3, 6, 9])
            #expect(job.totals == ImportTotals(read: 9, inserted: 6, rejected: 3))
        }
    }

    /// What a deferred constraint refuses is undone before the rest is counted.
    @Test func rowsThatASettledRangeTakesBackAreNotCounted() async throws {
        let setup = """
            create schema hc;
            create table hc.late (id int primary key, n int);
            create function hc.judge() returns trigger language plpgsql as $$
            begin
                if new.n < 0 then raise exception 'negative %', new.id; end if;
                return null;
            end $$;
            create constraint trigger judge after insert on hc.late
                deferrable initially deferred for each row execute function hc.judge();
            """
        try await ImportBench.with(setup) { bench in
            let rows = (1...9).map { "\($0),\($0 % 4 == 0 ? -1 : 1)\n" }.joined()
            let job = try await bench.load("hc.late", "id,n\n" + rows, "max_rejects => 2")
            #expect(job.totals == ImportTotals(read: 9, inserted: 7, rejected: 2), "\(job.error ?? "")")
            #expect(job.rejects.map(\.line) == [5, 9])
            #expect(job.rejects.map(\.message) == ["negative 4", "negative 8"])
            #expect(try await bench.value("select count(*) from hc.late") == "7")
            #expect(try job.ids == ["1", "2", "3", "5", "6", "7", "9"])
        }
    }

    @Test func aRowTooLongForAnIndexIsAReject() async throws {
        try await ImportBench.with("create schema hc; create table hc.k (id text primary key);") { bench in
            // Letters that do not compress.
            var random = SplitMix64(seed: 7)
            let long = String((0..<9000).map { _ in "abcdefghijklmnop".randomElement(using: &random) ?? "a" })
            let job = try await bench.load("hc.k", "id\na\n\(long)\nb\n", "max_rejects => 1")
            #expect(job.totals == ImportTotals(read: 3, inserted: 2, rejected: 1), "\(job.error ?? "")")
            #expect(job.rejects.map(\.sqlstate) == ["54000"])
        }
    }

    /// A value of these types is refused as a name that is not there, or as an expression.
    @Test func aValueThatIsRefusedAsANameIsAReject() async throws {
        let setup = "create schema hc; create table hc.r (id int primary key, q tsquery, c regclass);"
        try await ImportBench.with(setup) { bench in
            let job = try await bench.load(
                "hc.r",
                "id,q,c\n1,a & b,hc.r\n2,a & &,\n3,,hc.nowhere\n",
                "max_rejects => 2"
            )
            #expect(job.totals == ImportTotals(read: 3, inserted: 1, rejected: 2), "\(job.error ?? "")")
            #expect(job.rejects.map(\.column) == ["q", "c"])
        }
    }
}
