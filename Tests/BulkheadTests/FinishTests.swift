import BulkheadTesting
import Postgres
import Testing

@Suite struct FinishTests {
    private func withClaimedJob(
        maxAttempts: Int = 20,
        _ body: (TestDatabase, Claimant) async throws -> Void
    ) async throws {
        try await TestDatabase.with { database in
            _ = try await database.rows(
                "select bulkhead.enqueue('k', max_attempts => \(maxAttempts))"
            )
            let claimant = try await Claimant(database)
            _ = try await claimant.claim()
            try await body(database, claimant)
        }
    }

    @Test(arguments: [
        ("completed", "completed"), ("cancelled", "cancelled"), ("failed", "discarded"),
        ("retry", "retryable"), ("handed back", "available"),
    ])
    func anOutcomeBecomesAState(_ outcome: String, _ state: String) async throws {
        try await withClaimedJob { database, claimant in
            let ended = try await claimant.finish(1, outcome)
            #expect(ended == state)
            let isOver = ["completed", "cancelled", "discarded"].contains(state)
            #expect(
                try await database.rows(
                    "select state, daemon, finished_at is not null, attempt from bulkhead.job"
                ) == [[state, nil, isOver ? "t" : "f", outcome == "handed back" ? "0" : "1"]]
            )
        }
    }

    @Test func theTimeBetweenTriesGrowsToTenMinutes() async throws {
        try await TestDatabase.with { database in
            let rows = try await database.rows(
                """
                select n, min(extract(epoch from bulkhead.backoff(n))), max(extract(epoch from bulkhead.backoff(n)))
                from unnest('{1,2,5,10,11,20,2000000}'::int[]) n, generate_series(1, 200) group by n order by n
                """
            )
            let middles = [1.0, 2, 16, 512, 600, 600, 600]
            for (row, middle) in zip(rows, middles) {
                let (least, most) = (Double(row[1] ?? "") ?? 0, Double(row[2] ?? "") ?? 0)
                #expect(least >= middle * 0.5 && most <= middle * 1.5)
                // Spread, so that failures do not come back in step.
                #expect(most - least > middle * 0.5)
            }
        }
    }

    @Test func theLastAttemptIsDiscarded() async throws {
        try await withClaimedJob(maxAttempts: 2) { database, claimant in
            #expect(try await claimant.finish(1, "retry", message: "first") == "retryable")
            try await database.run("update bulkhead.job set run_at = now()")
            #expect(try await claimant.claim() == [1])
            #expect(
                try await claimant.finish(1, attempt: 2, "retry", message: "second") == "discarded"
            )
            #expect(
                try await database.rows(
                    "select attempt, message from bulkhead.job_error order by id"
                )
                    == [["1", "first"], ["2", "second"]]
            )
        }
    }

    @Test func onlyAttemptsSinceTheLastCommittedBatchCount() async throws {
        try await withClaimedJob(maxAttempts: 2) { database, claimant in
            for attempt in 1...5 {
                try await claimant.commitBatch(1, attempt: attempt, batches: attempt - 1)
                #expect(try await claimant.finish(1, attempt: attempt, "retry") == "retryable")
                // As after a first failure, since the job got on.
                try await database.expect(
                    "select run_at < clock_timestamp() + interval '2 s' from bulkhead.job",
                    "t"
                )
                try await database.run("update bulkhead.job set run_at = now()")
                #expect(try await claimant.claim() == [1])
            }
            #expect(try await claimant.finish(1, attempt: 6, "retry") == "discarded")
        }
    }

    @Test func handingBackNeverUsesUpAttempts() async throws {
        try await withClaimedJob(maxAttempts: 1) { database, claimant in
            for _ in 1...5 {
                #expect(try await claimant.finish(1, "handed back") == "available")
                #expect(try await claimant.claim() == [1])
            }
            try await claimant.commitBatch(1)
            #expect(try await claimant.finish(1, "handed back") == "available")
            #expect(try await claimant.claim() == [1])
            #expect(try await claimant.finish(1, "retry") == "discarded")
            try await database.expect("select attempt from bulkhead.job", "1")
        }
    }

    @Test(arguments: ["retry", "handed back", "cancelled"])
    func aRequestToCancelIsHeededWhateverElseHappens(_ outcome: String) async throws {
        try await withClaimedJob { database, claimant in
            try await database.run("select bulkhead.cancel(1)")
            try await database.expect("select cancel_requested from bulkhead.job_status", "t")
            #expect(try await claimant.finish(1, outcome) == "cancelled")
            try await database.expect("select count(*) from bulkhead.request", "0")
        }
    }

    @Test(arguments: ["blocked", "scheduled", "available", "retryable", "paused"])
    func aWaitingJobIsCancelledAtOnce(_ state: String) async throws {
        try await TestDatabase.with { database in
            try await database.run(
                "select bulkhead.enqueue('k'); update bulkhead.job set state = '\(state)'"
            )
            try await database.expect("select bulkhead.cancel(1)", "1")
            try await database.expect(
                "select state = 'cancelled' and finished_at is not null from bulkhead.job",
                "t"
            )
            let again = await #expect(throws: PostgresError.self) {
                try await database.run("select bulkhead.cancel(1)")
            }
            #expect(again?.message == "job 1 is already cancelled")
            let none = await #expect(throws: PostgresError.self) {
                try await database.run("select bulkhead.cancel(2)")
            }
            #expect(none?.message == "there is no job 2")
        }
    }

    @Test func retentionTakesOldFinishedJobsWithWhatBelongsToThem() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                insert into bulkhead.job (kind, state, created_at, finished_at)
                select 'k', s, now() - a, case when s in ('completed', 'cancelled', 'discarded') then now() - a end
                from unnest('{completed,cancelled,discarded,available,scheduled,retryable}'::text[]) s,
                    unnest('{1 hour,40 days}'::interval[]) a, generate_series(1, 2000);
                insert into bulkhead.job_error (job, attempt, message) select id, 1, 'm' from bulkhead.job;
                insert into bulkhead.request (job, what) select id, 'cancel' from bulkhead.job;
                insert into bulkhead.reject (job, file, line, byte_offset, sqlstate, message, raw, row_bytes, line_end)
                select id, 'f', 1, 0, '22P02', 'm', '', 0, '' from bulkhead.job;
                insert into bulkhead.reject_file select id, 'f', null, false from bulkhead.job
                """
            )
            var (after, calls): (String?, Int) = ("0", 0)
            while let from = after {
                after = try await database.value(
                    "select bulkhead.remove_finished('30 days', \(from)::bigint)"
                )
                calls += 1
            }
            #expect(calls == 4)
            for table in ["job", "job_error", "request", "reject", "reject_file"] {
                try await database.expect(
                    "select count(*) from \(unsafe: quoted("bulkhead", table))",
                    "18000"
                )
            }
            try await database.expect(
                "select count(*) from bulkhead.job where finished_at < now() - interval '30 days'",
                "0"
            )
        }
    }
}
