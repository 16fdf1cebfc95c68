import Bulkhead
import BulkheadTesting
import Postgres
import Testing

@Suite struct GrantTests {
    /// Runs a test with a role that has what a daemon is given, and with one that has nothing.
    private func withRoles(
        _ body: (TestDatabase, _ daemon: TestDatabase, _ stranger: TestDatabase) async throws ->
            Void
    ) async throws {
        try await TestDatabase.with { database in
            let (daemon, stranger) = ("d_\(database.name)", "s_\(database.name)")
            try await database.run("create role \(daemon) login; create role \(stranger) login")
            let connection = try Connection(
                database.address,
                settings: SessionSettings(applicationName: "setup")
            )
            try Installation(connection).grant(to: daemon)
            func role(_ name: String) throws -> TestDatabase {
                try database.at(database.url.replacing("postgres@", with: "\(name)@"))
            }
            try await body(database, role(daemon), role(stranger))
            try await database.run(
                "drop owned by \(daemon); drop role \(daemon); drop role \(stranger)"
            )
        }
    }

    @Test func aRoleWithTheGrantCanRunAWholeDaemon() async throws {
        try await withRoles { database, daemon, _ in
            try await database.run(
                """
                select bulkhead.enqueue('batch', max_attempts => 2),
                    bulkhead.enqueue('fail'), bulkhead.enqueue('small') from generate_series(1, 5);
                insert into bulkhead.job (kind, state, daemon, attempt, started_at, finished_at)
                values ('batch', 'running', gen_random_uuid(), 1, now(), null),
                    ('old', 'completed', null, 1, now(), now() - interval '90 days')
                """
            )
            let handlers = [
                TestHandler("batch") { context in
                    try await context.batch { batch in
                        try batch.publish(.update, of: "public.t", ids: JSONText("[1, 2]"))
                        return Progress(rowsDone: 2)
                    }
                },
                TestHandler("fail") { _ in throw JobFailure("no") },
                TestHandler("small", isSmall: true) { _ in },
            ]
            let running = try await TestDaemon.start(daemon, handlers) {
                $0.lease = .milliseconds(900)
                $0.retention = .seconds(3600)
            }
            try await database.waitUntil(
                """
                select count(*) filter (where kind = 'batch' and state = 'completed' and batches = 1) = 6
                    and count(*) filter (where kind = 'small' and state = 'completed') = 5
                    and count(*) filter (where kind = 'fail' and state = 'discarded') = 5
                    and count(*) filter (where kind = 'old') = 0
                from bulkhead.job
                """
            )
            try await running.stop()
            try await database.expect("select count(*) from bulkhead.daemon", "0")
            try await database.expect("select count(*) from bulkhead.change", "6")
        }
    }

    /// What only an owner may do.
    private static let forbidden = [
        "drop schema bulkhead cascade", "drop table bulkhead.job",
        "alter table bulkhead.job add column x int", "truncate bulkhead.job",
        "create table bulkhead.x (n int)", "select bulkhead.grant_daemon('postgres')",
        "insert into bulkhead.schema_version (version, name) values (99, 'x')",
        "update bulkhead.change set ids = null", "delete from bulkhead.change",
        "update bulkhead.job_error set message = ''",
        "create or replace function bulkhead.cancel(id bigint) returns bigint language sql as 'select 1::bigint'",
    ]

    @Test func aRoleWithTheGrantCanDoNoMore() async throws {
        try await withRoles { _, daemon, _ in
            let session = try await daemon.session()
            for statement in Self.forbidden {
                let error = await #expect(throws: PostgresError.self) {
                    try await session.run(statement)
                }
                #expect(error?.kind == .permission, "\(statement)")
            }
        }
    }

    /// What anyone might try.
    private static let closed = [
        "select 1 from bulkhead.job", "select bulkhead.enqueue('x')", "select bulkhead.cancel(1)",
        "select * from bulkhead.job_status", "select bulkhead.lock_class()",
    ]

    @Test func theRestOfTheWorldHasNothing() async throws {
        try await withRoles { _, _, stranger in
            let session = try await stranger.session()
            for statement in Self.closed {
                let error = await #expect(throws: PostgresError.self) {
                    try await session.run(statement)
                }
                #expect(error?.kind == .permission, "\(statement)")
            }
        }
    }

    @Test func nothingIsGrantedToPublic() async throws {
        try await TestDatabase.with { database in
            let open = try await database.rows(
                """
                select proname::text from pg_proc where pronamespace = 'bulkhead'::regnamespace
                    and exists (select from aclexplode(coalesce(proacl, acldefault('f', proowner))) a
                                where a.grantee = 0)
                union all
                select relname::text from pg_class where relnamespace = 'bulkhead'::regnamespace
                    and exists (select from aclexplode(relacl) a where a.grantee = 0)
                """
            )
            #expect(open.isEmpty)
        }
    }
}
