import Bulkhead
import BulkheadTesting
import Foundation
import Postgres
import Testing

@testable import BulkheadJobs

/// What comes back, over what came back meanwhile, and what cannot.
@Suite struct RestoreTests {
    private static let items = """
        create schema hc;
        create table hc.item (id int primary key, kind text, v int);
        insert into hc.item select g, 'old', g from generate_series(1, 100) g;
        """
    private static let places = ["hc.kept", "kept.jsonl.gz"]

    @Test(arguments: places)
    func everyRowComesBackAndTheFeedNamesIt(archive: String) async throws {
        try await PurgeBench.with(Self.items) { bench in
            let before = try await bench.checksum("hc.item")
            let purge = try await bench.purge(
                "hc.item",
                "$$id > 10$$, archive => '\(archive)', batch => 8"
            )
            let job = try await bench.restore(purge.id)
            #expect(job.restored.restored == 90, "\(job.error ?? "")")
            #expect(try await bench.checksum("hc.item") == before)
            #expect(try await bench.changes("insert", "hc.item").count == 90)
            let error = await #expect(throws: PostgresError.self) {
                _ = try await bench.restore(purge.id)
            }
            #expect(error?.message.contains("is restored") == true, "\(error?.message ?? "")")
        }
    }

    /// Three of the rows are there again: one with other values, one with none, one as it was.
    @Test(
        arguments: [
            ("skip", [["1", "new", "-1"], ["2", nil, nil], ["3", "old", "3"]]),
            ("fill", [["1", "new", "-1"], ["2", "old", "2"], ["3", "old", "3"]]),
            ("update", [["1", "old", "1"], ["2", "old", "2"], ["3", "old", "3"]]),
            ("replace", [["1", "old", "1"], ["2", "old", "2"], ["3", "old", "3"]]),
        ] as [(String, [[String?]])],
        places
    )
    func rowsThatAreThereAgainMeetThePolicy(
        expected: (policy: String, rows: [[String?]]),
        archive: String
    ) async throws {
        try await PurgeBench.with(Self.items) { bench in
            let purge = try await bench.purge(
                "hc.item",
                "$$true$$, archive => '\(archive)', batch => 8"
            )
            try await bench.database.run(
                "insert into hc.item values (1, 'new', -1), (2, null, null), (3, 'old', 3)"
            )
            let job = try await bench.restore(purge.id, "on_conflict => '\(expected.policy)'")
            #expect(job.state == "completed", "\(job.error ?? "")")
            #expect(
                try await bench.rows("select * from hc.item where id <= 3 order by id")
                    == expected.rows
            )
            #expect(try await bench.value("select count(*) from hc.item") == "100")
            #expect(job.restored.restored == 97)
            let changed = try await bench.changes("update", "hc.item")
            switch expected.policy {
            case "skip":
                #expect(job.restored.skipped == 3)
                #expect(changed == [])
                if archive == "hc.kept" {
                    #expect(
                        try await bench.rows("select id from hc.kept order by id") == [
                            ["1"], ["2"], ["3"],
                        ]
                    )
                }
                // What was skipped can be asked for again.
                let next = try await bench.restore(purge.id, "on_conflict => 'update'")
                #expect(next.restored.updated == 2, "\(next.error ?? "")")
                #expect(try await bench.value("select kind from hc.item where id = 1") == "old")
            case "fill": #expect(changed == ["2"])
            default: #expect(changed == ["1", "2"])
            }
        }
    }

    @Test(arguments: places)
    func underErrorOneConflictFailsTheJobAndNothingIsLost(archive: String) async throws {
        try await PurgeBench.with(Self.items) { bench in
            let before = try await bench.checksum("hc.item")
            let purge = try await bench.purge(
                "hc.item",
                "$$true$$, archive => '\(archive)', batch => 8"
            )
            try await bench.database.run("insert into hc.item values (50, 'new', -1)")
            let job = try await bench.restore(purge.id)
            #expect(job.state == "discarded")
            #expect(job.error?.contains("duplicate key") == true, "\(job.error ?? "")")
            try await bench.database.run("delete from hc.item where id = 50")
            _ = try await bench.value("select bulkhead.retry(\(job.id))")
            try await bench.drain()
            #expect(try await bench.outcome(of: job.id).restored.restored == 100)
            #expect(try await bench.checksum("hc.item") == before)
        }
    }

    @Test func aDamagedFileIsToldAndAGoodCopyHelps() async throws {
        try await PurgeBench.with(Self.items) { bench in
            let before = try await bench.checksum("hc.item")
            let purge = try await bench.purge(
                "hc.item",
                "$$true$$, archive => 'kept.jsonl.gz', batch => 20"
            )
            let path = bench.folder.path + "/kept.\(purge.id)-1.jsonl.gz"
            let good = try Data(contentsOf: URL(filePath: path))
            var bad = good
            bad[bad.count / 2] ^= 1
            var restore: Int64?
            for (content, problem) in [
                (Data(good.dropLast(3)), "was cut"), (bad, "was damaged"), (nil, "no such file"),
            ] as [(Data?, String)] {
                if let content {
                    try content.write(to: URL(filePath: path))
                } else {
                    try FileManager.default.removeItem(atPath: path)
                }
                if let restore {
                    _ = try await bench.value("select bulkhead.retry(\(restore))")
                    try await bench.drain()
                } else {
                    restore = try await bench.restore(purge.id).id
                }
                let job = try await bench.outcome(of: restore ?? 0)
                #expect(job.state == "discarded")
                #expect(
                    job.error?.lowercased().contains(problem) == true,
                    "\(problem): \(job.error ?? "")"
                )
            }
            // Bytes behind the last block are nobody's.
            try (good + Data("garbage".utf8)).write(to: URL(filePath: path))
            _ = try await bench.value("select bulkhead.retry(\(restore ?? 0))")
            try await bench.drain()
            #expect(try await bench.outcome(of: restore ?? 0).state == "completed")
            #expect(try await bench.checksum("hc.item") == before)
        }
    }

    @Test func aPurgeThatHasNotEndedIsNotRestored() async throws {
        try await PurgeBench.with(Self.items + PurgeStop.gate(on: "hc.item")) { bench in
            let id = try await bench.enqueue(
                "hc.item",
                "$$true$$, archive => 'hc.kept', batch => 8"
            )
            let stop = try await PurgeStop.start(bench)
            try await stop.betweenBatches(of: id) {
                let error = await #expect(throws: PostgresError.self) {
                    _ = try await bench.value("select bulkhead.restore(\(id))")
                }
                #expect(error?.message.contains("has not ended") == true, "\(error?.message ?? "")")
            }
            try await stop.finish()
            #expect(try await bench.restore(id).restored.restored == 100)
        }
    }

    /// The blocks outlive the job.
    @Test func aPurgeIsRestoredWhenItsJobIsGone() async throws {
        try await PurgeBench.with(Self.items) { bench in
            let purge = try await bench.purge("hc.item", "$$true$$, archive => 'hc.kept'")
            try await bench.database.run("delete from bulkhead.job")
            #expect(try await bench.restore(purge.id).restored.restored == 100)
        }
    }

    @Test func filesAreRestoredOnTheHostThatHasThem() async throws {
        try await PurgeBench.with(Self.items) { bench in
            let purge = try await bench.purge("hc.item", "$$true$$, archive => 'kept.jsonl.gz'")
            let id = try await bench.value("select bulkhead.restore(\(purge.id))") ?? ""
            try await bench.drain { $0.host = "elsewhere" }
            #expect(
                try await bench.rows("select state, host from bulkhead.job where id = \(id)")
                    == [["available", "test"]]
            )
            try await bench.drain()
            #expect(try await bench.value("select count(*) from hc.item") == "100")
        }
    }

    @Test func whatCannotBeRestoredIsRefused() async throws {
        try await PurgeBench.with(Self.items) { bench in
            let plain = try await bench.purge("hc.item", "$$id = 1$$")
            for (call, problem) in [
                ("\(plain.id)", "has archived nothing"), ("77", "has archived nothing"),
                ("null", "is null"), ("1, on_conflict => 'best'", "on_conflict must be"),
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    _ = try await bench.value("select bulkhead.restore(\(call))")
                }
                #expect(error?.message.contains(problem) == true, "\(error?.message ?? "")")
            }
            let purge = try await bench.purge("hc.item", "$$true$$, archive => 'hc.kept'")
            try await bench.database.run("alter table hc.item drop column kind")
            let job = try await bench.restore(purge.id)
            #expect(job.state == "discarded")
            #expect(
                job.error?.contains("has no column kind any more") == true,
                "\(job.error ?? "")"
            )
        }
    }
}
