import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

@Suite struct LedgerTests {
    private static let files = [("1_a.sql", "create table a ()"), ("3_c.sql", "create table c ()")]

    private func refusal(
        _ scene: MigrationScene,
        _ files: [(String, String)],
        _ options: String = ""
    ) async -> String? {
        do {
            _ = try await scene.enqueue(files, options)
            return nil
        } catch let error as PostgresError {
            #expect(error.state?.rawValue == "22023")
            return error.message
        } catch {
            return "\(error)"
        }
    }

    @Test(arguments: [
        "0007_x.sql", "7-x.sql", "7.sql", "V7__x.sql", "V1.2__x.sql", "V1_2__x.sql", "V1.0__x.sql",
        "V1.0.3__x.sql",
        "20261101120000_x.sql", "0_x.sql", "V0__x.sql", "x.sql", "V__x.sql", "V1.x__y.sql",
        "V7_x.sql", "7x.sql", "",
        "V1..2__x.sql", "R__x.sql",
    ])
    func theServerReadsNumbersAsTheProgramDoes(name: String) async throws {
        try await MigrationScene.with { scene in
            try await scene.expect(
                "select bulkhead.version_text(bulkhead.migration_version(\(name)))",
                MigrationVersion(fileName: name)?.description
            )
        }
    }

    @Test func whatDoesNotFitTheRecordIsRefusedAtOnceWithTheWayOut() async throws {
        try await MigrationScene.with { scene in
            try await scene.apply(Self.files)
            let changed = await refusal(
                scene,
                [("1_a.sql", "create table a (n int)"), Self.files[1]]
            )
            #expect(changed?.hasPrefix("1_a.sql was applied at ") == true)
            #expect(changed?.hasSuffix("or accept it as it is with --repair") == true)
            let missing = await refusal(scene, [Self.files[0]])
            #expect(
                missing?.hasPrefix("3_c.sql was applied and is missing among the files") == true
            )
            let old = await refusal(scene, Self.files + [("2_b.sql", "create table b ()")])
            #expect(
                old?.hasPrefix("2_b.sql is older than 3_c.sql, which was applied already") == true
            )
            // Line ends are no change, and one file alone says nothing of the others.
            #expect(
                await refusal(
                    scene,
                    [("1_a.sql", "create table a ()"), ("3_c.sql", "create table c ()")]
                ) == nil
            )
            #expect(await refusal(scene, [Self.files[0]], "complete => false") == nil)
        }
    }

    @Test func lineEndsAreNoChange() async throws {
        try await MigrationScene.with { scene in
            try await scene.apply([("1_a.sql", "create table a\r\n()\r\n")])
            #expect(await refusal(scene, [("1_a.sql", "create table a\n()\n")]) == nil)
        }
    }

    @Test func repairAcceptsTheFilesAsTheyAre() async throws {
        try await MigrationScene.with { scene in
            try await scene.apply(Self.files)
            let now = [("1_a.sql", "create table a (n int)"), ("2_b.sql", "create table b ()")]
            try await scene.apply(now, "repair => true")
            #expect(
                try await scene.database.rows(
                    "select version, state from bulkhead.migration_status"
                )
                    == [["1", "applied"], ["2", "applied"]]
            )
            #expect(await refusal(scene, now) == nil)
        }
    }

    @Test func aBaselineCountsAsAppliedAndToIsTheLast() async throws {
        try await MigrationScene.with("create table a ()") { scene in
            let files = Self.files + [("4_d.sql", "create table d ()")]
            try await scene.apply(files, "baseline => '1', to_version => '3'")
            #expect(
                try await scene.database.rows(
                    "select version, state, (select m.kind from bulkhead.migration m where m.file = s.file) from bulkhead.migration_status s"
                ) == [["1", "applied", "baseline"], ["3", "applied", "transaction"]]
            )
            try await scene.expect("select to_regclass('d')", nil)
            #expect(
                await refusal(scene, files, "to_version => '2'")?.hasPrefix(
                    "no file has the number 2"
                ) == true
            )
            #expect(
                await refusal(scene, files, "to_version => 'x'")?.contains(
                    "takes the number of a file"
                ) == true
            )
        }
    }

    @Test func filesAreTakenBackTheNewestFirst() async throws {
        try await MigrationScene.with { scene in
            let files = [
                ("1_a.sql", "create table a (n int)\n;-- bulkhead: down\ndrop table a"),
                (
                    "2_b.sql",
                    """
                    alter table a add b int;
                    -- bulkhead: down
                    alter table a drop b;
                    -- bulkhead: concurrently
                    vacuum a
                    """
                ),
            ]
            try await scene.apply(files)
            try await scene.apply(files, "down => '1'")
            try await scene.expect(
                "select string_agg(version, ',') from bulkhead.migration_status",
                "1"
            )
            try await scene.expect(
                "select count(*) from pg_attribute where attrelid = 'a'::regclass and attname = 'b'",
                "0"
            )
            try await scene.apply(files)
            try await scene.apply(files, "down => '0'")
            try await scene.expect("select count(*) from bulkhead.migration", "0")
            try await scene.expect("select to_regclass('a')", nil)
            try await scene.apply([("1_a.sql", "select 1")])
            let ending = try await scene.migrate([("1_a.sql", "select 1")], "down => '0'")
            #expect(ending.error?.hasPrefix("1_a.sql does not say how it is taken back") == true)
        }
    }

    @Test func theRecordStaysWhenItsJobIsGone() async throws {
        try await MigrationScene.with { scene in
            try await scene.apply(Self.files)
            _ = try await scene.database.value("select bulkhead.remove_finished('0', 0)")
            try await scene.expect("select count(*) from bulkhead.job", "0")
            try await scene.apply(Self.files)
            try await scene.expect("select result ->> 'steps' from bulkhead.job", "0")
        }
    }

    @Test(arguments: [
        (#"'{}'"#, "files must be a JSON array"), (#"'[]'"#, "files must be a JSON array"),
        (#"'[{"name": "1_a.sql"}]'"#, "files must be a JSON array"),
        (#"'[{"name": "a.sql", "text": ""}]'"#, "a.sql has no number"),
        (
            #"'[{"name": "1_a.sql", "text": ""}, {"name": "V1__b.sql", "text": ""}]'"#,
            "have the same number"
        ),
        (#"'[{"name": "1_a.sql", "text": ""}]', max_block => 5"#, "max_block must be"),
        (#"'[{"name": "1_a.sql", "text": ""}]', down => '0', to_version => '1'"#, "down goes with"),
    ])
    func badArgumentsAreRefusedAtOnce(arguments: String, words: String) async throws {
        try await MigrationScene.with { scene in
            let error = await #expect(throws: PostgresError.self) {
                try await scene.database.value("select bulkhead.migrate(\(unsafe: arguments))")
            }
            #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
        }
    }
}
