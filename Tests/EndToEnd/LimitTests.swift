import BulkheadTesting
import Foundation
import Postgres
import Testing

/// Limits from the command line, and what people see of them.
@Suite struct LimitTests {
    /// A worker whose job waits behind a transaction of the test's own.
    private func withHeldImport(
        _ body: (Workplace, TestSession, Running) async throws -> Void
    ) async throws {
        try await Workplace.with { place in
            try await place.database.run("create table t (id int primary key)")
            try place.write("id\n1\n", to: "f.csv")
            let old = try await place.database.session()
            try await old.run("begin isolation level repeatable read; select 1")
            let added = try await place.program.run(
                ["import", "t", "f.csv", "--nice", "0.5", "--max-snapshot-age", "0 s"]
                    + ["--max-wal-rate", "1GB/s"]
            )
            #expect(added.output == "1\n", "\(added.errors)")
            let worker = try place.program.start("worker", "--lease", "2")
            try await place.database.waitUntil("select waiting is not null from bulkhead.job")
            try await body(place, old, worker)
        }
    }

    @Test func whatAJobWaitsForIsShownAndTheLimitTakenAway() async throws {
        try await withHeldImport { place, _, worker in
            let shown = try await place.program.run("show", "1").output
            #expect(
                shown.contains("limits        nice 0.5, snapshot_age 0 s, wal_rate 1073741824"),
                "\(shown)"
            )
            #expect(shown.contains("waiting: snapshot age "), "\(shown)")
            let listed = try await place.program.run("jobs").output
            #expect(listed.contains(" s > 0 s (pid "), "\(listed)")
            let waiter = try place.program.start("wait", "1")
            try await waiter.waitForErrors { $0.contains("job 1 running, waiting: snapshot age ") }
            let json = try await place.program.run("show", "1", "--json").output
            #expect(try place.keys(of: json).isSuperset(of: ["waiting", "limits", "unheeded"]))
            let changed = try await place.program.run("limit", "1", "--max-snapshot-age", "off")
            #expect(changed.status == 0)
            #expect(changed.errors == "job 1 heeds its new limits, or will in a moment\n")
            #expect(await waiter.end() == 0)
            worker.send(SIGTERM)
            #expect(await worker.end() == 0)
        }
    }

    @Test func aKilledWorkersWaitIsForgottenByTheRescue() async throws {
        try await withHeldImport { place, old, worker in
            worker.send(SIGKILL)
            _ = await worker.end()
            try await old.run("commit")
            #expect(try await place.drain().status == 0)
            #expect(
                try await place.database.rows("select state, waiting from bulkhead.job") == [
                    ["completed", nil]
                ]
            )
        }
    }

    @Test func badLimitsAreRefused() async throws {
        try await Workplace.with { place in
            for (words, message) in [
                (
                    ["enqueue", "k", "--nice", "much"],
                    "the limit nice takes a number from 0 to 1000"
                ),
                (["limit", "1"], "limit needs an option that says what to change"),
                (["queue", "limit", "q"], "write queue limit NAME N, or an option"),
                (["queue", "limit", "q", "--max-wal-rate", "x"], "the limit wal_rate takes bytes"),
                (["queue", "pause", "q", "--nice", "1"], "queue pause takes no limits"),
            ] {
                let refused = try await place.program.run(words)
                #expect(refused.status == 2, "\(words)")
                #expect(refused.errors.contains(message), "\(refused.errors)")
            }
            let unknown = try await place.program.run("limit", "9", "--nice", "1")
            #expect(unknown.status == 1)
            #expect(unknown.errors == "bulkhead: there is no job 9\n")
        }
    }

    @Test func aQueuesJobsAreLimited() async throws {
        try await Workplace.with { place in
            let limited = try await place.program.run(
                ["queue", "limit", "nightly", "2", "--nice", "3", "--max-replica-lag", "10 s"]
            )
            #expect(limited.status == 0)
            #expect(limited.errors.contains("queue nightly runs at most 2 jobs at once"))
            #expect(limited.errors.contains("the jobs of queue nightly heed its new limits"))
            _ = try await place.program.run(["queue", "limit", "nightly", "--nice", "off"])
            #expect(
                try await place.database.rows("select max_running, limits from bulkhead.queue")
                    == [["2", #"{"replica_lag": "10 s"}"#]]
            )
        }
    }
}
