import Bulkhead
import BulkheadTesting
import Testing

@testable import BulkheadJobs

/// Which way a purge takes through a table.
@Suite struct WayTests {
    private static let indexed = """
        create schema hc;
        create table hc.t (id int primary key, a int, kind text, pad text);
        insert into hc.t select g, nullif(g % 1000, 0), 'k' || g % 4, repeat('x', 50) from generate_series(1, 40000) g;
        """

    private func way(_ bench: PurgeBench, _ condition: String, _ more: String = "") async throws
        -> String?
    {
        let id = try await bench.enqueue("hc.t", "$$\(condition)$$\(more), dry_run => true")
        try await bench.drain()
        return try await bench.value(
            "select result -> 'tables' -> 0 ->> 'way' from bulkhead.job where id = \(id)"
        )
    }

    @Test func manyRowsOfOneValueAreFoundByPages() async throws {
        let setup =
            Self.indexed + "create index on hc.t (kind); create index on hc.t (a); analyze hc.t;"
        try await PurgeBench.with(setup) { bench in
            try await bench.database.run(
                "do $$ begin execute format('alter database %I set enable_seqscan = off', current_database()); end $$"
            )
            #expect(try await way(bench, "a < 20")?.hasPrefix("by the index on a") == true)
            // 10,000 rows share a value: each batch of 100 would look at all of them.
            #expect(
                try await way(bench, "kind = 'k1'", ", batch => 100")?.hasPrefix("by ranges")
                    == true
            )
            #expect(
                try await way(bench, "kind = 'k1'", ", batch => 10000")?.hasPrefix("by the index")
                    == true
            )
        }
    }

    /// The first column of the index may be NULL where the condition speaks of the second.
    @Test func rowsWithoutAValueInTheIndexAreFound() async throws {
        let setup =
            Self.indexed + """
                create index on hc.t (a, kind);
                update hc.t set kind = 'a.a' where id % 100 = 0;
                """
        try await PurgeBench.with(setup) { bench in
            try await bench.database.run("vacuum analyze hc.t")
            try await bench.database.run(
                """
                do $$ begin execute format('alter database %I set enable_seqscan = off', current_database());
                    execute format('alter database %I set enable_bitmapscan = off', current_database()); end $$
                """
            )
            let job = try await bench.purge("hc.t", "$$kind = 'a.a'$$")
            #expect(job.report.deleted == 400, "\(job.error ?? "")")
            #expect(try await bench.value("select count(*) from hc.t where kind = 'a.a'") == "0")
        }
    }
}
