import BulkheadTesting
import Foundation
import Postgres
import Testing

/// The dry run of a migration and the steps that a model leads to, as a user meets them.
@Suite struct MigrationPreviewTests {
    private static let tables = """
        create table flight (id int primary key, carrier text, distance int);
        insert into flight select g, 'UA', g from generate_series(1, 200000) g;
        analyze flight;
        """

    @Test func aDryRunFlagsWhatBlocksAndTouchesNothing() async throws {
        try await Workplace.with { place in
            try await place.database.run(Self.tables)
            try place.write("alter table flight add column note text;", to: "1_note.sql")
            let program = place.program
            let harmless = try await program.run("migrate", ".", "--dry-run", "--strict")
            #expect(harmless.status == 0, "\(harmless.errors)")
            #expect(harmless.output.contains("public.flight: ACCESS EXCLUSIVE, 200,000 rows"))
            try place.write(
                "alter table flight alter column distance type bigint;",
                to: "2_type.sql"
            )
            let strict = try await program.run("migrate", ".", "--dry-run", "--strict")
            #expect(strict.status == 1)
            #expect(strict.output.contains("rewritten"), "\(strict.output)")
            #expect(strict.output.contains("blocks reads and writes for about"))
            #expect(strict.output.contains("expand and contract"))
            let json = try await program.run("migrate", ".", "--dry-run", "--json")
            #expect(json.status == 0)
            #expect(try place.keys(of: json.output) == ["steps", "notes"])
            try place.write("alter table nope add column x int;", to: "3_nope.sql")
            let failing = try await program.run("migrate", ".", "--dry-run")
            #expect(failing.status == 1)
            #expect(
                failing.output.contains(
                    "would fail: 3_nope.sql line 1: relation \"nope\" does not exist"
                )
            )
            #expect(try await place.database.value("select count(*) from bulkhead.job") == "0")
            #expect(
                try await place.database.value(
                    "select count(*) from pg_attribute where attrelid = 'flight'::regclass and attname = 'note'"
                ) == "0"
            )
        }
    }

    @Test func whatChangesTheServerIsNotTriedAndWhatIsRefusedIsSaid() async throws {
        try await Workplace.with { place in
            let role = "tried_" + UUID().uuidString.lowercased().filter { $0 != "-" }
            try place.write(
                "create role \(role);\ngrant \(role) to current_user;\ncreate table a (at timestamptz default '2026-01-01');",
                to: "1_a.sql"
            )
            let program = place.program
            let tried = try await program.run("migrate", ".", "--dry-run")
            #expect(tried.status == 0, "\(tried.output)")
            #expect(tried.output.contains("not tried: it changes the whole server"))
            #expect(
                try await place.database.value(
                    "select count(*) from pg_roles where rolname = \(role)"
                ) == "0"
            )
            try place.write("create table b ();", to: "1_a.sql")
            let daemon = try program.start("worker")
            #expect(try await program.run("migrate", ".", "--wait").status == 0)
            try place.write("create table c ();", to: "1_a.sql")
            let changed = try await program.run("migrate", ".", "--dry-run")
            #expect(changed.status == 1)
            #expect(changed.errors.contains("has been changed since"), "\(changed.errors)")
            #expect(try await program.run("migrate", ".", "--down", "0", "--dry-run").status == 2)
            daemon.send(SIGTERM)
            #expect(await daemon.end() == 0)
        }
    }

    @Test func aFileMeansWhatItMeansToTheDatabase() async throws {
        try await Workplace.with { place in
            try await place.database.run(
                "alter database \(place.database.name) set timezone = 'America/New_York'"
            )
            try place.write(
                """
                create table a as select timestamptz '2026-01-01' as at, current_setting('TimeZone') as zone;
                -- bulkhead: concurrently
                create table b as select current_setting('TimeZone') as zone;
                """,
                to: "1_a.sql"
            )
            let daemon = try place.program.start("worker")
            #expect(try await place.program.run("migrate", ".", "--wait").status == 0)
            #expect(
                try await place.database.rows(
                    "select a.at at time zone 'UTC', a.zone, b.zone from a, b"
                )
                    == [["2026-01-01 05:00:00", "America/New_York", "America/New_York"]]
            )
            daemon.send(SIGTERM)
            #expect(await daemon.end() == 0)
        }
    }

    @Test func aRoleThatMayMakeNoDatabaseIsToldSo() async throws {
        try await Workplace.with { place in
            let role = "plain_" + UUID().uuidString.lowercased().filter { $0 != "-" }
            try await place.database.run(
                "create role \(role) login; select bulkhead.grant_daemon('\(role)')"
            )
            try place.write("select 1;", to: "1_x.sql")
            let separator = place.database.url.contains("?") ? "&" : "?"
            let refused = try await place.program.run(
                "migrate",
                ".",
                "--dry-run",
                "--database",
                "\(place.database.url)\(separator)user=\(role)"
            )
            #expect(refused.status == 1)
            #expect(refused.errors.contains("alter role ... createdb"), "\(refused.errors)")
            try await place.database.run("drop owned by \(role); drop role \(role)")
        }
    }

    @Test func aModelLeadsToANumberedFileThatIsApplied() async throws {
        try await Workplace.with { place in
            try await place.database.run(Self.tables)
            let program = place.program
            let model = try await program.run("model")
            #expect(model.status == 0, "\(model.errors)")
            try place.write(model.output, to: "model.json")
            let same = try await program.run("migrate", "--model", "model.json")
            #expect(same.status == 0)
            #expect(same.errors.contains("the database is what the model says"))

            let changed = model.output.replacingOccurrences(
                of: "\"name\" : \"carrier\"",
                with:
                    "\"name\" : \"airline\", \"renamed_from\" : \"carrier\", \"required\" : true, \"backfill\" : \"'XX'\""
            )
            try place.write(changed, to: "model.json")
            let shown = try await program.run("migrate", "--model", "model.json", "--dry-run")
            #expect(
                shown.output.contains(
                    "alter table public.flight rename column carrier to airline;"
                ),
                "\(shown.output)"
            )
            #expect(try await place.database.value("select count(*) from bulkhead.job") == "0")

            try FileManager.default.createDirectory(
                at: place.folder.appending(path: "steps"),
                withIntermediateDirectories: true
            )
            try place.write("select 1;", to: "steps/0041_x.sql")
            let daemon = try program.start("worker")
            let applied = try await program.run(
                "migrate",
                "steps",
                "--model",
                "model.json",
                "--wait"
            )
            #expect(applied.status == 0, "\(applied.errors)")
            #expect(applied.errors.contains("wrote steps/0042_model.sql"))
            let written = try String(
                contentsOf: place.folder.appending(path: "steps/0042_model.sql"),
                encoding: .utf8
            )
            #expect(written == shown.output.dropLast())
            let after = try await program.run("migrate", "--model", "model.json", "--dry-run")
            #expect(after.errors.contains("the database is what the model says"), "\(after.output)")
            daemon.send(SIGTERM)
            #expect(await daemon.end() == 0)
        }
    }

    @Test func whatCannotBeInferredIsNamedAndNothingIsEnqueued() async throws {
        try await Workplace.with { place in
            try await place.database.run(Self.tables)
            let program = place.program
            let model = try await program.run("model").output
            try place.write(
                model.replacingOccurrences(
                    of: "\"name\" : \"carrier\",",
                    with: "\"name\" : \"carrier\", \"required\" : true,"
                ),
                to: "model.json"
            )
            let refused = try await program.run("migrate", "--model", "model.json")
            #expect(refused.status == 1)
            #expect(
                refused.errors.contains("cannot be inferred: flight.carrier becomes required"),
                "\(refused.errors)"
            )
            try place.write("{\"tabels\": {}}", to: "model.json")
            let slip = try await program.run("migrate", "--model", "model.json")
            #expect(slip.status == 2)
            #expect(slip.errors.contains("unknown name tabels"), "\(slip.errors)")
            let schema = try await program.run("model", "--schema", "nowhere")
            #expect(schema.status == 1)
            #expect(schema.errors.contains("there is no schema nowhere"), "\(schema.errors)")
            let missing = try await program.run("migrate", "nosuchdir", "--model", "model.json")
            #expect(missing.status == 2)
            #expect(
                missing.errors.contains("there is no directory nosuchdir"),
                "\(missing.errors)"
            )
            #expect(try await place.database.value("select count(*) from bulkhead.job") == "0")
            // Two of one second must not have one number.
            try place.write(
                model.replacingOccurrences(
                    of: "\"name\" : \"carrier\",",
                    with: "\"name\" : \"carrier\", \"default\" : \"'UA'\","
                ),
                to: "model.json"
            )
            let enqueued = try await program.run("migrate", "--model", "model.json")
            #expect(enqueued.status == 0, "\(enqueued.errors)")
            let named: SQL = "select args::text ~ '[\"][0-9]{17}_model.sql' from bulkhead.job"
            #expect(try await place.database.value(named) == "t")
        }
    }
}
