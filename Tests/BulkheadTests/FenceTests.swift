import BulkheadTesting
import Postgres
import Testing

@Suite struct FenceTests {
    /// What makes a claim void; each alone is enough.
    static let changes = [
        "delete from bulkhead.job", "update bulkhead.job set attempt = attempt + 1",
        "update bulkhead.job set daemon = gen_random_uuid()",
        "update bulkhead.job set state = 'available', daemon = null",
        "update bulkhead.job set state = 'cancelled', finished_at = now(), daemon = null",
        "delete from bulkhead.daemon",
        "update bulkhead.daemon set lease_expires_at = now() - interval '1 ms'",
    ]

    private func withClaimedJob(
        _ body: (TestDatabase, Claimant, Int64) async throws -> Void
    ) async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k')")
            let claimant = try await Claimant(database)
            let job = try #require(try await claimant.claim().first)
            try await body(database, claimant, job)
        }
    }

    @Test(arguments: changes + ["update bulkhead.job set batches = batches + 1"])
    func aBatchIsRefusedWhenTheClaimIsVoid(_ change: String) async throws {
        try await withClaimedJob { database, claimant, job in
            try await database.run(change)
            let before = try await database.rows("select * from bulkhead.job")
            let error = await #expect(throws: PostgresError.self) {
                try await claimant.commitBatch(job)
            }
            #expect(error?.state?.rawValue == "BH002")
            let after = try await database.rows("select * from bulkhead.job")
            #expect(after == before)
        }
    }

    @Test(arguments: changes)
    func anyOutcomeIsRefusedWhenTheClaimIsVoid(_ change: String) async throws {
        try await withClaimedJob { database, claimant, job in
            try await database.run(change)
            let before = try await database.rows("select * from bulkhead.job")
            for outcome in ["completed", "cancelled", "failed", "retry", "handed back"] {
                let error = await #expect(throws: PostgresError.self) {
                    try await claimant.finish(job, outcome, message: "m")
                }
                #expect(error?.state?.rawValue == "BH002", "\(outcome)")
            }
            let after = try await database.rows("select * from bulkhead.job")
            #expect(after == before)
            try await database.expect("select count(*) from bulkhead.job_error", "0")
        }
    }

    @Test func completingABunchLeavesWhatIsNoLongerTheCallers() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k') from generate_series(1, 5)")
            let claimant = try await Claimant(database)
            let jobs = try await claimant.claim(small: ["k"])
            try await database.run(
                """
                update bulkhead.job set attempt = 2 where id = 2;
                update bulkhead.job set daemon = gen_random_uuid() where id = 3;
                update bulkhead.job set state = 'available', daemon = null where id = 4
                """
            )
            let done = try await claimant.session.value(
                "select bulkhead.complete(\(jobs), \(claimant.id))"
            )
            #expect(done == "2")
            #expect(
                try await database.rows("select state from bulkhead.job order by id") == [
                    ["completed"], ["running"], ["running"], ["available"], ["completed"],
                ]
            )
        }
    }

    @Test func aBatchWritesProgressAndForgivesEarlierAttempts() async throws {
        try await withClaimedJob { database, claimant, job in
            try await claimant.commitBatch(job)
            try await claimant.commitBatch(job, batches: 1)
            #expect(
                try await database.rows(
                    "select batches, checkpoint, rows_done, rows_total, attempt_floor from bulkhead.job"
                ) == [["2", "{\"at\": 1}", "10", "20", "0"]]
            )
        }
    }
}
