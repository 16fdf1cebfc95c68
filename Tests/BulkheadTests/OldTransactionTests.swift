import Bulkhead
import BulkheadTesting
import Postgres
import Testing

@Suite struct OldTransactionTests {
    /// Lets a daemon work to its end, and go with its sessions.
    private func drain(_ database: TestDatabase, _ handler: TestHandler) async throws {
        try await TestDaemon.start(database, [handler]) { $0.drains = true }.wait()
    }

    /// What has ended leaves dead index entries that cannot be vacuumed; nobody may walk them job by job.
    @Test(arguments: [true, false])
    func whatItKeepsIsNotReadAgainForEachJob(_ isSmall: Bool) async throws {
        try await TestDatabase.with { database in
            let jobs = isSmall ? 4000 : 300
            try await database.run(
                "select count(bulkhead.enqueue('k')) from generate_series(1, \(jobs))"
            )
            // As an autovacuum leaves the statistics when nothing runs.
            try await database.run("vacuum analyze bulkhead.job")
            let old = try await database.session()
            try await old.run(
                "begin isolation level repeatable read; select count(*) from bulkhead.job"
            )
            let handler = TestHandler("k", isSmall: isSmall) { context in
                if !isSmall { try await context.batch { _ in context.progress } }
            }
            try await drain(database, handler)
            try await database.expect("select bool_and(state = 'completed') from bulkhead.job", "t")
            // A session reports what it read when it ends, which may be a moment after the daemon's end.
            try await database.waitUntil(
                """
                select not exists (select from pg_stat_activity
                    where datname = current_database() and application_name like 'bulkhead worker%')
                """
            )
            let read = try await database.value(
                """
                select max(idx_tup_read) from pg_stat_user_indexes
                where relname = 'job' and indexrelname = 'job_running'
                """
            )
            // Claim, batch and end read a few entries each; all dead ones each time would be a multiple.
            #expect(try #require(read.flatMap { Int($0) }) < jobs * 10)
        }
    }
}
