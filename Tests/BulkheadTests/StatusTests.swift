import BulkheadTesting
import Postgres
import Testing

@Suite struct StatusTests {
    @Test func figuresAreThoseOfTheLastAttempt() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                insert into bulkhead.job (kind, state, daemon, rows_done, rows_before, rows_total, started_at, finished_at)
                values ('running', 'running', gen_random_uuid(), 600000, 100000, 1100000, now() - interval '10000 s', null),
                    ('done', 'completed', null, 600, 100, null, now() - interval '20 s', now() - interval '10 s'),
                    ('waiting', 'available', null, 0, 0, null, null, null),
                    ('over', 'running', gen_random_uuid(), 30000, 0, 20000, now() - interval '10000 s', null),
                    ('instant', 'completed', null, 5, 0, 0, now(), now());
                insert into bulkhead.job_error (job, attempt, message) values (1, 1, 'old'), (1, 2, 'new');
                insert into bulkhead.request (job, what) values (4, 'cancel')
                """
            )
            #expect(
                try await database.rows(
                    """
                    select kind, percent, rows_per_second, round(extract(epoch from eta), -1)::int,
                        round(extract(epoch from runtime), -1)::int,
                        last_error, cancel_requested from bulkhead.job_status order by id
                    """
                ) == [
                    ["running", "54.5", "50", "10000", "10000", "new", "f"],
                    ["done", "100", "50", nil, "10", nil, "f"],
                    ["waiting", nil, nil, nil, nil, nil, "f"],
                    ["over", "100", "3", "0", "10000", nil, "t"],
                    ["instant", "100", nil, nil, "0", nil, "f"],
                ]
            )
        }
    }

    @Test func daemonsAreShownWithTheirJobs() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k') from generate_series(1, 3)")
            let claimants = (
                try await Claimant(database), try await Claimant(database, lease: "-1 s")
            )
            for _ in 0..<2 { _ = try await claimants.0.claim() }
            #expect(
                try await database.rows(
                    "select alive, running from bulkhead.daemon_status order by alive"
                )
                    == [["f", "0"], ["t", "2"]]
            )
            try await database.run("select bulkhead.remove_dead_daemons()")
            try await database.expect("select count(*) from bulkhead.daemon", "1")
        }
    }
}
