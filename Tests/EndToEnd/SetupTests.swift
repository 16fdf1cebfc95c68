import BulkheadTesting
import Foundation
import Postgres
import Testing

/// Installing the schema from the command line.
@Suite struct SetupTests {
    /// Everything that an installation makes, and who may do what with it.
    static let checksum: SQL = """
        select md5(string_agg(line, chr(10) order by line)) from (
            select pg_get_functiondef(p.oid) || coalesce(p.proacl::text, '')
            from pg_proc p where p.pronamespace = 'bulkhead'::regnamespace
            union all
            select c.relname::text || c.relkind::text || coalesce(c.relacl::text, '') || coalesce(c.reloptions::text, '')
                || coalesce(obj_description(c.oid, 'pg_class'), '')
            from pg_class c where c.relnamespace = 'bulkhead'::regnamespace
            union all
            select c.relname::text || a.attname::text || format_type(a.atttypid, a.atttypmod) || a.attnotnull::text
            from pg_class c join pg_attribute a on a.attrelid = c.oid
            where c.relnamespace = 'bulkhead'::regnamespace and not a.attisdropped
            union all
            select version || name from bulkhead.schema_version) as lines (line)
        """

    @Test func setupMayBeRunAgainAndChecked() async throws {
        try await Workplace.with(hasSchema: false) { place in
            let before = try await place.program.run("setup", "--check")
            #expect(before.status == 1)
            #expect(before.errors.contains("run `bulkhead setup`"))
            let first = try await place.program.run("setup")
            #expect(first.status == 0)
            #expect(first.output.hasPrefix("the schema bulkhead has version "))
            #expect(first.errors.contains("installed version 1"))
            let second = try await place.program.run("setup", "--json")
            #expect(second.status == 0)
            #expect(try place.keys(of: second.output) == ["version", "installed"])
            #expect(second.errors == "")
            let check = try await place.program.run("setup", "--check", "--json")
            #expect(check.status == 0)
            #expect(try place.keys(of: check.output) == ["version", "newest"])
        }
    }

    @Test func tenAtOnceInstallOnce() async throws {
        try await Workplace.with(hasSchema: false) { place in
            let running = try (0..<10).map { _ in try place.program.start("setup", "--quiet") }
            for process in running {
                let status = await process.end()
                let errors = try process.errors()
                #expect(status == 0, "\(errors)")
            }
            let versions = try await place.database.rows(
                "select count(*), max(version) from bulkhead.schema_version"
            )
            #expect(versions[0][0] == versions[0][1])
        }
    }

    @Test func whatIsPrintedInstallsTheSameThroughPsql() async throws {
        try await Workplace.with(hasSchema: false) { place in
            let result = try await place.program.shell(
                """
                set -o pipefail
                "$BULKHEAD" setup --print | psql -X -q -v ON_ERROR_STOP=1 "$BULKHEAD_DATABASE_URL"
                """
            )
            #expect(result.status == 0, "\(result.errors)")
            let check = try await place.program.run("setup", "--check")
            #expect(check.status == 0, "\(check.errors)")
            let printed = try await place.database.value(Self.checksum)
            let installed = try await TestDatabase.with { try await $0.value(Self.checksum) }
            #expect(installed == printed)
        }
    }

    @Test func removingAsksAndNeverWithoutAnAnswer() async throws {
        try await Workplace.with { place in
            let refused = try await place.program.run("setup", "--remove")
            #expect(refused.status == 2)
            #expect(refused.errors.contains("--yes"))
            #expect(try await place.database.value("select count(*) from bulkhead.job") == "0")
            let removed = try await place.program.run("setup", "--remove", "--yes")
            #expect(removed.status == 0)
            #expect(try await place.database.value("select to_regnamespace('bulkhead')") == nil)
            let again = try await place.program.run("setup", "--remove", "--yes")
            #expect(again.status == 3)
        }
    }

    @Test func aRoleThatWasGrantedCanRunADaemon() async throws {
        try await Workplace.with(hasSchema: false) { place in
            let role = "daemon_" + UUID().uuidString.lowercased().filter { $0 != "-" }
            try await place.database.run(
                """
                create role \(role) login password 'geheim';
                create table t (id int primary key); grant insert, select on t to \(role)
                """
            )
            let setup = try await place.program.run("setup", "--grant", role)
            #expect(setup.status == 0, "\(setup.errors)")
            try place.write("id\n1\n2\n", to: "f.csv")
            _ = try await place.program.run("import", "t", "f.csv")
            let separator = place.database.url.contains("?") ? "&" : "?"
            let url = "\(place.database.url)\(separator)user=\(role)&password=geheim"
            let worker = try await place.drain("--database", url)
            #expect(worker.status == 0, "\(worker.errors)")
            #expect(!worker.errors.contains("geheim"))
            #expect(
                try await place.database.value("select count(*) from t") == "2",
                "\(worker.errors)"
            )
            let unknown = try await place.program.run("setup", "--grant", "nobody_\(role)")
            #expect(unknown.status == 1)
            try await place.database.run("drop owned by \(role); drop role \(role)")
        }
    }
}
