import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

/// `dry_run`: every check, and nothing stays.
@Suite struct DryRunTests {
    static let table = """
        create schema hc;
        create table hc.t (id serial primary key, v int check (v < 100), w text);
        insert into hc.t values (1, 1), (2, 2);
        """
    static let text = "id,V,other\n1,1,o\n2,7,o\n3,3,o\n4,x,o\n5,100,o\n6,6\n"
    static let options = "dry_run => true, on_conflict => 'update', map => '{\"other\": \"\"}'"

    @Test(arguments: [false, true], [2, 1000])
    func everythingIsCheckedAndNothingStays(isAtomic: Bool, batch: Int) async throws {
        try await ImportBench.with(Self.table) { bench in
            let job = try await bench.load(
                "hc.t",
                Self.text,
                "\(Self.options), max_rejects => 3, atomic => \(isAtomic), batch => \(batch)"
            )
            #expect(job.state == "completed", "\(job.error ?? "")")
            #expect(
                job.totals
                    == ImportTotals(read: 6, inserted: 1, updated: 1, unchanged: 1, rejected: 3)
            )
            #expect(job.rejects.map(\.line) == [5, 6, 7])
            #expect(job.changes == [])
            #expect(
                try await bench.rows("select id, v from hc.t order by id") == [
                    ["1", "1"], ["2", "2"],
                ]
            )
            #expect(try await bench.value("select last_value from hc.t_id_seq") == "1")
            #expect(
                try await bench.value(
                    "select result ->> 'dry_run' || (result -> 'mapping')::text from bulkhead.job"
                )
                    == #"true[{"file": "in.csv", "columns": [{"field": "id", "column": "id"}, "#
                    + #"{"field": "V", "column": "v"}, {"field": "other", "column": null}]}]"#
            )
        }
    }

    @Test func moreBadRowsThanAllowedAreAllCountedAndFailIt() async throws {
        try await ImportBench.with(Self.table) { bench in
            let job = try await bench.load("hc.t", Self.text, Self.options)
            #expect(job.state == "discarded")
            #expect(
                job.error?.contains("3 of 6 rows would be rejected") == true,
                "\(job.error ?? "")"
            )
            #expect(job.rejects.map(\.line) == [5, 6, 7])
            #expect(try await bench.value("select count(*) from hc.t") == "2")
        }
    }

    @Test func theFirstThousandRejectsAreKept() async throws {
        try await ImportBench.with(Self.table) { bench in
            let text = "id,v\n" + (1...1500).map { "\($0 + 10),x\n" }.joined()
            let job = try await bench.load(
                "hc.t",
                text,
                "dry_run => true, max_rejects => 2000, batch => 400"
            )
            #expect(job.totals.rejected == 1500, "\(job.error ?? "")")
            #expect(job.rejects.map(\.line) == Array(2...1001))
        }
    }
}
