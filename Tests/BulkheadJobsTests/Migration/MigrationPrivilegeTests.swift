import Bulkhead
import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

@Suite struct MigrationPrivilegeTests {
    @Test func aRoleThatOwnsItsTablesNeedsNoMore() async throws {
        try await MigrationScene.with { scene in
            try await LimitedRole.with(in: scene.database) { role in
                try await scene.database.run(
                    """
                    create schema app authorization \(role.name);
                    create table app.flights (id int primary key, miles int);
                    insert into app.flights select n, n from generate_series(1, 1000) n;
                    alter table app.flights owner to \(role.name);
                    create table other (id int primary key);
                    grant references on other to \(role.name)
                    """
                )
                let job = try await scene.enqueue([
                    (
                        "1_x.sql",
                        """
                        alter table app.flights add km int, add o int references other;
                        -- bulkhead: backfill app.flights until km is not null
                        update app.flights set km = miles * 2 where {batch};
                        -- bulkhead: concurrently
                        create index on app.flights (km);
                        vacuum app.flights;
                        """
                    )
                ])
                try await TestDaemon.start(scene.database, [MigrationHandler()]) {
                    $0.address = role.address
                    $0.drains = true
                }.wait()
                let ending = try await scene.ending(of: job)
                #expect(ending.error == nil)
                #expect(ending.state == "completed")
                try await scene.expect("select sum(km) from app.flights", "1001000")
            }
        }
    }

    @Test func whatTheRoleMayNotDoFailsWithTheLine() async throws {
        try await MigrationScene.with("create table other (id int)") { scene in
            try await LimitedRole.with(in: scene.database) { role in
                let job = try await scene.enqueue([
                    ("1_x.sql", "select 1;\nalter table other add x int;")
                ])
                try await TestDaemon.start(scene.database, [MigrationHandler()]) {
                    $0.address = role.address
                    $0.drains = true
                }.wait()
                let error = try await scene.ending(of: job).error
                #expect(
                    error?.hasPrefix("1_x.sql line 2: must be owner of table other") == true,
                    "\(error ?? "")"
                )
            }
        }
    }
}
