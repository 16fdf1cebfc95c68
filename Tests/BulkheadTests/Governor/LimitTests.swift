import BulkheadTesting
import Postgres
import Testing

@Suite struct LimitTests {
    @Test func goodLimitsAreKeptInOneForm() async throws {
        try await TestDatabase.with { database in
            try await database.expect(
                """
                select bulkhead.check_limits('{"nice": "1.5", "replica_lag": "10 s", "lock_waiters": "0",
                    "wal_rate": "50MB/s", "snapshot_age": 90, "archive_queue": null}') = '{"nice": 1.5,
                    "replica_lag": "10 s", "lock_waiters": 0, "wal_rate": 52428800, "snapshot_age": "90",
                    "archive_queue": null}'
                """,
                "t"
            )
            try await database.expect("select bulkhead.check_limits(null)", nil)
        }
    }

    private static let bad = [
        (#"{"lag": 1}"#, "there is no limit lag"), ("[]", "must be a JSON object, not array"),
        (#"{"nice": -1}"#, "the limit nice takes a number from 0 to 1000, not -1"),
        (#"{"nice": "NaN"}"#, "not NaN"), (#"{"nice": true}"#, "not true"),
        (#"{"replica_lag": "soon"}"#, "takes an interval such as '10 s', not soon"),
        (#"{"snapshot_age": "-1 s"}"#, "not -1 s"),
        (#"{"lock_waiters": 1.5}"#, "takes a whole number from 0 up, not 1.5"),
        (#"{"archive_queue": 99999999999}"#, "not 99999999999"),
        (#"{"wal_rate": "fast"}"#, "takes bytes per second"), (#"{"wal_rate": 0}"#, "not 0"),
        (#"{"wal_rate": [1]}"#, "not [1]"),
    ]

    @Test(arguments: bad)
    func badLimitsAreRefusedAtOnceByAllThatTakeThem(limits: String, message: String) async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k'); create table t (n int)")
            for call in [
                "enqueue('k', limits => '\(limits)')", "limit_job(1, '\(limits)')",
                "limit_queue_jobs('q', '\(limits)')",
                "import('t', 'f.csv', limits => '\(limits)')",
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await database.run("select bulkhead.\(call)")
                }
                #expect(error?.state?.rawValue == "22023")
                #expect(error?.message.contains(message) == true, "\(String(describing: error))")
            }
        }
    }

    @Test func aJobsWordBeatsItsQueuesWhichBeatsTheDaemons() async throws {
        try await TestDatabase.with { database in
            let inForce: SQL = """
                select bulkhead.limits_in_force(1, '{"nice": 1, "lock_waiters": 1, "wal_rate": "1kB"}')
                """
            try await database.run("select bulkhead.enqueue('k')")
            try await database.expect(
                inForce,
                #"{"nice": 1, "wal_rate": 1024, "lock_waiters": 1}"#
            )
            try await database.run(
                """
                select bulkhead.limit_queue_jobs('default', '{"nice": 2, "lock_waiters": 2}'),
                    bulkhead.limit_job(1, '{"nice": 3, "replica_lag": "1 min"}')
                """
            )
            try await database.expect(
                "select (\(inForce)) = '{\"nice\": 3, \"wal_rate\": 1024, \"lock_waiters\": 2, \"replica_lag\": 60}'",
                "t"
            )
            try await database.run("select bulkhead.limit_job(1, '{\"nice\": null}')")
            try await database.expect("select (\(inForce)) -> 'nice'", "2")
            try await database.run(
                "select bulkhead.limit_queue_jobs('default', '{\"nice\": null}')"
            )
            try await database.expect("select (\(inForce)) -> 'nice'", "1")
            try await database.expect("select limits from bulkhead.queue", #"{"lock_waiters": 2}"#)
        }
    }

    @Test func theLimitsOfEachKindReachItsJob() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                create table t (n int);
                select bulkhead.import('t', 'f.csv', limits => '{"nice": 2, "replica_lag": null}'),
                    bulkhead.import('t', '{f.csv}'::text[], limits => '{"nice": 2}'),
                    bulkhead.purge('t', 'n = 1', limits => '{"nice": 2}')
                """
            )
            let limits: SQL =
                "select distinct limits, (select count(*) from bulkhead.job) from bulkhead.job_status"
            #expect(try await database.rows(limits) == [[#"{"nice": 2}"#, "3"]])
        }
    }

    @Test func aLimitOfAJobThatHasEndedIsRefused() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k'), bulkhead.cancel(1)")
            let error = await #expect(throws: PostgresError.self) {
                try await database.run("select bulkhead.limit_job(1, '{\"nice\": 2}')")
            }
            #expect(error?.message == "job 1 is already cancelled")
            await #expect(throws: PostgresError.self) {
                try await database.run("select bulkhead.limit_job(7, '{}')")
            }
        }
    }

    @Test func anOpenTransactionThatChangesALimitHoldsUpNoBatch() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k')")
            let claimant = try await Claimant(database)
            _ = try await claimant.claim()
            let psql = try await database.session()
            try await psql.run("begin; select bulkhead.limit_job(1, '{\"nice\": 2}')")
            try await claimant.session.run("set lock_timeout = '2 s'")
            try await claimant.commitBatch(1)
            try await psql.run("commit")
            try await database.expect("select limits from bulkhead.job_status", #"{"nice": 2}"#)
        }
    }
}
