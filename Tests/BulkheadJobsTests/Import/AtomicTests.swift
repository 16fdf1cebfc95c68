import Bulkhead
import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

/// `atomic`: all rows or none.
@Suite struct AtomicTests {
    static let table =
        "create schema hc; create table hc.t (id int primary key, v int check (v < 100));"

    private static func rows(_ range: ClosedRange<Int>) -> String {
        "id,v\n" + range.map { "\($0),\($0 % 100)\n" }.joined()
    }

    @Test(arguments: ["error", "skip", "update"])
    func allFilesAreOneTransaction(policy: String) async throws {
        try await ImportBench.with(Self.table) { bench in
            try bench.folder.write(Self.rows(1...50), to: "a.csv")
            try bench.folder.write(Self.rows(51...99), to: "b.csv")
            let job = try await bench.load(
                "hc.t",
                files: ["a.csv", "b.csv"],
                "atomic => true, batch => 7, on_conflict => '\(policy)'"
            )
            #expect(job.state == "completed", "\(job.error ?? "")")
            #expect(job.totals == ImportTotals(read: 99, inserted: 99))
            #expect(job.batches == 1)
            #expect(try job.ids.count == 99)
            #expect(try await bench.value("select count(distinct xmin::text) from hc.t") != "0")
            #expect(
                try await bench.rows("select rows_done, rows_total from bulkhead.job") == [
                    ["99", "99"]
                ]
            )
        }
    }

    @Test func whatFailsLeavesNothingButItsRejects() async throws {
        try await ImportBench.with(Self.table) { bench in
            let text = Self.rows(1...40) + "41,x\n42,100\n43,1\n44,y\n45,z\n"
            let job = try await bench.load(
                "hc.t",
                text,
                "atomic => true, batch => 5, max_rejects => 2"
            )
            #expect(job.state == "discarded")
            #expect(job.rejects.map(\.line).first == 42)
            #expect(job.rejects.count > 2)
            #expect(job.position == "in.csv line 42")
            #expect(job.totals == ImportTotals())
            #expect(job.changes == [])
            #expect(try await bench.value("select count(*) from hc.t") == "0")
            #expect(
                try await bench.rows("select rows_done, batches from bulkhead.job") == [["0", "0"]]
            )
            // Begun anew, its rejects are not there twice.
            _ = try await bench.value("select bulkhead.retry(\(job.id), max_rejects => 9)")
            try await bench.drain()
            let again = try await bench.outcome(of: job.id)
            #expect(again.state == "completed", "\(again.error ?? "")")
            #expect(again.totals == ImportTotals(read: 45, inserted: 41, rejected: 4))
            #expect(again.rejects.map(\.line) == [42, 43, 45, 46])
        }
    }

    /// What is deferred may be put right by a later row of the file, batches later.
    @Test func deferredConstraintsAreCheckedAtTheEnd() async throws {
        let setup = """
            create schema hc;
            create table hc.node (
                id int primary key, parent int references hc.node deferrable initially deferred);
            """
        try await ImportBench.with(setup) { bench in
            let text = "id,parent\n" + (1...20).map { "\($0),\($0 % 20 + 1)\n" }.joined()
            let job = try await bench.load("hc.node", text, "atomic => true, batch => 3")
            #expect(job.totals == ImportTotals(read: 20, inserted: 20), "\(job.error ?? "")")
            let wrong = try await bench.load(
                "hc.node",
                "id,parent\n30,31\n",
                "atomic => true, max_rejects => 5"
            )
            #expect(wrong.state == "discarded")
            #expect(wrong.sqlstate == "23503")
        }
    }

    @Test func theFiguresAreSeenWhileItRuns() async throws {
        let setup =
            "create schema hc; \(ImportBench.gate(at: 8)) create table hc.t (id int primary key, g int default hc.gate())"
        try await ImportBench.with(setup) { bench in
            let keeper = try await bench.database.session()
            _ = try await keeper.value("select pg_advisory_lock(4711)")
            let text = "id\n" + (1...20).map { "\($0)\n" }.joined()
            let job = try await bench.enqueue(
                "hc.t",
                text: text,
                "atomic => true, batch => 2, on_conflict => 'skip'"
            )
            let daemon = try await bench.startDaemon()
            try await bench.database.waitUntil(
                SQL(
                    unsafe:
                        "select rows_done = 6 from bulkhead.job where id = \(job)"
                )
            )
            #expect(try await bench.value("select count(*) from hc.t") == "0")
            await keeper.close()
            try await bench.database.waitUntil(
                SQL(unsafe: "select state = 'completed' from bulkhead.job where id = \(job)")
            )
            try await daemon.stop()
            #expect(try await bench.value("select count(*) from hc.t") == "20")
        }
    }

    /// The daemon is stopped in the middle: nothing stays, and the next attempt begins anew.
    @Test func anInterruptedOneBeginsAnew() async throws {
        let setup =
            "create schema hc; \(ImportBench.gate(at: 8)) create table hc.t (id int primary key, g int default hc.gate())"
        try await ImportBench.with(setup) { bench in
            let text = "id\n" + (1...20).map { "\($0)\n" }.joined()
            let job = try await bench.enqueue(
                "hc.t",
                text: text,
                "atomic => true, batch => 2, on_conflict => 'skip'"
            )
            try await bench.runToGate(job, batches: 0)
            #expect(try await bench.value("select count(*) from hc.t") == "0")
            try await bench.drain()
            let outcome = try await bench.outcome(of: job)
            #expect(outcome.totals == ImportTotals(read: 20, inserted: 20))
            #expect(try outcome.ids.count == 20)
        }
    }
}
