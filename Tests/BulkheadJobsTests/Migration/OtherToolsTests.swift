import BulkheadTesting
import Foundation
import Postgres
import Testing

@testable import BulkheadJobs

/// Directories as other tools have them run unchanged.
@Suite struct OtherToolsTests {
    private func files(_ tool: String) throws -> [MigrationFile] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent()
            .appendingPathComponent("Cases/directories/\(tool)")
        return try MigrationDirectory(path: folder.path).files
    }

    /// A tool, a query of what its files make, and the answer.
    @Test(arguments: [
        (
            "dbmate",
            "select name || ', ' || (select indisvalid from pg_index where indexrelid = 'users_email'::regclass) from users",
            "nobody; really, true"
        ),
        (
            "goose",
            "select string_agg(username || ' ' || name, ', ' order by id) || (select count(*) from histories) from users",
            "admin , ann Ann; the first3"
        ),
        (
            "flyway",
            "select string_agg(initial, ',' order by id) || (select indisvalid from pg_index where indexrelid = 'person_name'::regclass) from person",
            "Axel,Foo,Bar;true"
        ),
        (
            "golang-migrate",
            "select string_agg(attname, ',' order by attnum) from pg_attribute where attrelid = 'users'::regclass and attnum > 0",
            "user_id,email,mood"
        ),
    ])
    func itsDirectoryRuns(tool: String, query: String, answer: String) async throws {
        let files = try files(tool)
        try await MigrationScene.with { scene in
            try await scene.apply(files)
            try await scene.expect(SQL(unsafe: query), answer)
            guard try MigrationPlan(files[0]).down.isEmpty == false else { return }
            try await scene.apply(files, "down => '0'")
            try await scene.expect(
                "select count(*) from pg_class where relnamespace = 'public'::regnamespace",
                "0"
            )
        }
    }
}
