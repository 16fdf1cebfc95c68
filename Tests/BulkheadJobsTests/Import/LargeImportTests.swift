import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

/// Many rows and many bad ones: still one pass, and true figures at every moment.
@Suite struct LargeImportTests {
    static let table = """
        create schema hc;
        create table hc.big (id int primary key, n int check (n >= 0), name text);
        """

    private func text(_ rows: Int, _ row: (Int) -> String) -> String {
        var text = "id,n,name\n"
        for number in 1...rows { text += row(number) + "\n" }
        return text
    }

    @Test func onePercentOfBadRowsIsPutAside() async throws {
        try await ImportBench.with(Self.table) { bench in
            let text = text(50_000) { row in
                switch row % 200 {
                case 17: "\(row),x,bad"
                case 117: "\(row),-1,bad"
                default: "\(row),\(row % 7),name \(row)"
                }
            }
            let job = try await bench.load("hc.big", text, "max_rejects => 1000")
            #expect(job.totals == ImportTotals(read: 50_000, inserted: 49_500, rejected: 500))
            #expect(try await bench.value("select count(*) from hc.big where name = 'bad'") == "0")
        }
    }

    @Test func aBlockOfTenThousandBadRowsIsPutAside() async throws {
        try await ImportBench.with(Self.table) { bench in
            let text = text(20_000) { row in
                (5_001...15_000).contains(row) ? "\(row),?,bad" : "\(row),1,good"
            }
            let job = try await bench.load("hc.big", text, "max_rejects => 10000")
            #expect(
                job.totals == ImportTotals(read: 20_000, inserted: 10_000, rejected: 10_000),
                "\(job.error ?? "")"
            )
            #expect(job.rejects.first?.line == 5_002)
            #expect(job.rejects.last?.line == 15_001)
            #expect(Set(job.rejects.map(\.column)) == ["n"])
        }
    }

    /// Figures, table, rejects and feed, all of one moment.
    @Test func figuresAreTrueAtEveryCommit() async throws {
        try await ImportBench.with(Self.table) { bench in
            let text = text(3_000) { row in
                row % 10 == 3 ? "\(row),x," : row % 10 == 7 ? "\(row - 1),1," : "\(row),1,"
            }
            try bench.folder.write(text, to: "in.csv")
            let job = try await bench.enqueue(
                "hc.big",
                files: ["in.csv"],
                "on_conflict => 'skip', max_rejects => 9999, batch => 50"
            )
            let daemon = try await bench.startDaemon()
            let watcher = try await bench.database.session()
            var seen: Set<String> = []
            var isDone = false
            while !isDone {
                let row = try await watcher.rows(
                    """
                    select state, coalesce(result ->> 'read', '0'),
                        (result ->> 'read')::int = (result ->> 'inserted')::int
                            + (result ->> 'updated')::int + (result ->> 'unchanged')::int
                            + (result ->> 'skipped')::int + (result ->> 'rejected')::int
                        and rows_done = (result ->> 'read')::int
                        and (select count(*) from hc.big) = (result ->> 'inserted')::int
                        and (select count(*) from bulkhead.reject) = (result ->> 'rejected')::int
                        and (select coalesce(sum(jsonb_array_length(ids)), 0) from bulkhead.change)
                            = (result ->> 'inserted')::int
                        -- The end of the file may take a batch of its own.
                        and batches - ceil((result ->> 'read')::int / 50.0) in (0, 1)
                    from bulkhead.job where id = \(job)
                    """
                )[0]
                if row[1] != "0" { #expect(row[2] == "t", "\(row)") }
                seen.insert(row[1] ?? "")
                isDone = ["completed", "discarded"].contains(row[0])
            }
            try await daemon.stop()
            let ended = try await bench.outcome(of: job)
            #expect(
                ended.totals
                    == ImportTotals(read: 3000, inserted: 2400, skipped: 300, rejected: 300),
                "\(ended.error ?? "")"
            )
            #expect(seen.count > 3)
        }
    }
}
