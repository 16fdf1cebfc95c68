import Bulkhead
import BulkheadTesting
import Postgres
import Testing

@Suite struct RetryTests {
    /// A job that failed half-way, with all that it left.
    private static let failed = """
        insert into bulkhead.job (kind, state, attempt, attempt_floor, checkpoint, rows_done, rows_before,
            rows_total, batches, result, started_at, finished_at, args)
        values ('import', 'discarded', 7, 5, '{"at": 3}', 30, 20, 100, 3, '{"read": 30}', now(), now(),
            '{"files": ["f"], "max_rejects": 1}');
        insert into bulkhead.job_error (job, attempt, message) values (1, 7, 'no');
        insert into bulkhead.reject (job, file, line, byte_offset, sqlstate, message, raw, row_bytes,
            line_end)
        values (1, 'f', 1, 0, '22P02', 'bad', 'x', 1, E'\\n');
        insert into bulkhead.request (job, what) values (1, 'cancel')
        """

    private static let columns: SQL = """
        select state, attempt, attempt_floor, checkpoint, rows_done, rows_total, batches, result, finished_at,
            args ->> 'max_rejects', (select count(*) from bulkhead.reject), (select count(*) from bulkhead.request)
        from bulkhead.job
        """

    @Test func aFailedJobGoesOnFromItsCheckpointWithFreshAttempts() async throws {
        try await TestDatabase.with { database in
            try await database.run(Self.failed)
            try await database.expect("select bulkhead.retry(1)", "1")
            #expect(
                try await database.rows(Self.columns) == [
                    [
                        "available", "0", "0", "{\"at\": 3}", "30", "100", "3", "{\"read\": 30}",
                        nil, "1", "1", "0",
                    ]
                ]
            )
            try await database.expect("select count(*) from bulkhead.job_error", "1")
        }
    }

    @Test func fromTheStartNothingIsLeftButTheCountOfBatches() async throws {
        try await TestDatabase.with { database in
            try await database.run(Self.failed)
            try await database.run("select bulkhead.retry(1, from_start => true, max_rejects => 9)")
            #expect(
                try await database.rows(Self.columns) == [
                    ["available", "0", "0", nil, "0", nil, "4", nil, nil, "9", "0", "0"]
                ]
            )
        }
    }

    /// A dead connection may still commit a batch of the former run, whose attempt has the same number.
    @Test func aBatchOfTheFormerRunIsFencedAfterANewStart() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k')")
            let claimant = try await Claimant(database)
            _ = try await claimant.claim()
            #expect(try await claimant.finish(1, "failed", message: "no") == "discarded")
            try await database.run("select bulkhead.retry(1, from_start => true)")
            #expect(try await claimant.claim() == [1])
            let error = await #expect(throws: PostgresError.self) {
                try await claimant.commitBatch(1, attempt: 1, batches: 0)
            }
            #expect(error?.kind == .fenced)
            try await claimant.commitBatch(1, attempt: 1, batches: 1)
        }
    }

    @Test func aDaemonRunsItAgainFromItsLastBatch() async throws {
        try await TestDatabase.with { database in
            try await database.run(Effects.setUp + "; create table broken (); ")
            try await database.run("select bulkhead.enqueue('effects')")
            let handler = Effects.handler(6) { batch, number in
                let broken = try batch.connection.query("select to_regclass('broken') is not null")
                if number == 3, try broken.required(0, 0) { throw JobFailure("broken") }
            }
            let daemon = try await TestDaemon.start(database, [handler]) { $0.poll = .seconds(600) }
            try await database.waitUntil("select state = 'discarded' from bulkhead.job")
            try await database.run("drop table broken; select bulkhead.retry(1)")
            try await database.waitUntil("select state = 'completed' from bulkhead.job")
            try await database.expect(Effects.areExactlyOnce(6), "t")
            try await daemon.stop()
        }
    }

    @Test(arguments: ["cancelled", "retryable", "paused"])
    func aJobInThisStateRunsAgain(_ state: String) async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                insert into bulkhead.job (kind, state, attempt, run_at, finished_at)
                values ('k', '\(state)', 3, now() + interval '1 hour', case when '\(state)' = 'cancelled' then now() end);
                select bulkhead.retry(1)
                """
            )
            #expect(try await Claimant(database).claim() == [1])
        }
    }

    @Test func whatCannotBeRetriedIsRefused() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                insert into bulkhead.job (kind, state, daemon, finished_at, unique_key)
                values ('k', 'completed', null, now(), null), ('k', 'running', gen_random_uuid(), null, null),
                    ('k', 'available', null, null, null), ('k', 'discarded', null, now(), 'key'),
                    ('import', 'discarded', null, now(), null);
                select bulkhead.enqueue('k', unique_key => 'key')
                """
            )
            let session = try await database.session()
            for (call, says) in [
                ("retry(1)", "job 1 is completed"),
                ("retry(1, from_start => true)", "job 1 is completed"),
                ("retry(2)", "job 2 is running"), ("retry(3)", "job 3 is available and will run"),
                ("retry(4)", "job 6 has the same unique key as job 4"),
                ("retry(4, max_rejects => 5)", "max_rejects is for imports; job 4 is of kind k"),
                ("retry(5, max_rejects => -1)", "max_rejects must not be negative"),
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await session.run("select bulkhead.\(call)")
                }
                #expect(error?.message.contains(says) == true, "\(call): \(error?.message ?? "")")
            }
            try await database.run("select bulkhead.cancel(6), bulkhead.retry(4)")
            try await database.expect("select state from bulkhead.job where id = 4", "available")
        }
    }
}
