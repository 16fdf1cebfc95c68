import Bulkhead
import BulkheadTesting
import Foundation
import Postgres

@testable import BulkheadJobs

/// A database and an import root of one test, and daemons of the test's process that load files.
struct ImportBench {
    let database: TestDatabase
    let folder: TemporaryDirectory

    static func with<Result>(
        _ setup: String,
        _ body: (ImportBench) async throws -> Result
    ) async throws -> Result {
        try await TestDatabase.with { database in
            try await database.run(setup)
            return try await body(
                ImportBench(database: database, folder: try TemporaryDirectory())
            )
        }
    }

    /// Loads a text into a table, and says what became of it.
    ///
    /// - Parameter options: Named arguments of `bulkhead.import`, as SQL.
    func load(_ table: String, _ text: String, _ options: String = "") async throws -> LoadedJob {
        try folder.write(text, to: "in.csv")
        return try await load(table, files: ["in.csv"], options)
    }

    func load(_ table: String, files: [String], _ options: String = "") async throws -> LoadedJob {
        let job = try await enqueue(table, files: files, options)
        try await drain()
        return try await outcome(of: job)
    }

    func enqueue(_ table: String, files: [String], _ options: String = "") async throws -> Int64 {
        let rest = options.isEmpty ? "" : ", " + options
        let id = try await database.value(
            "select bulkhead.import(\(table)::text, \(files)::text[]\(unsafe: rest))"
        )
        return Int64(id ?? "") ?? 0
    }

    /// Runs a daemon until nothing is left to do.
    func drain(configure: (inout DaemonConfiguration) -> Void = { _ in }) async throws {
        let daemon = try await TestDaemon.start(
            database,
            [ImportHandler(importRoot: folder.path)]
        ) { configuration in
            configuration.drains = true
            configure(&configuration)
        }
        try await daemon.wait()
    }

    func rows(_ query: String) async throws -> [[String?]] {
        try await database.rows(SQL(unsafe: query))
    }

    func value(_ query: String) async throws -> String? {
        try await database.value(SQL(unsafe: query))
    }

    /// A case's file beside these tests.
    func copyCase(_ name: String, as copy: String? = nil) throws {
        let file = copy ?? (name.split(separator: "/").last.map(String.init) ?? name)
        try folder.write(CaseFiles.bytes(name), to: file)
    }

    func outcome(of job: Int64) async throws -> LoadedJob {
        let session = try await database.session()
        return try await session.use { try LoadedJob(job, $0) }
    }
}
