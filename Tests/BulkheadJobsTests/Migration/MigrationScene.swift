import Bulkhead
import BulkheadTesting
import Foundation
import Postgres
import Testing

@testable import BulkheadJobs

/// A database to which files are applied.
struct MigrationScene: Sendable {
    let database: TestDatabase

    static func with(_ setUp: String = "", _ body: (MigrationScene) async throws -> Void)
        async throws
    {
        try await TestDatabase.with { database in
            if !setUp.isEmpty { try await database.run(setUp) }
            try await body(MigrationScene(database: database))
        }
    }

    /// How a job ended.
    struct Ending: Equatable, Sendable {
        let state: String
        let error: String?
        let result: String?
    }

    /// Enqueues files; a pair is a name and a text.
    func enqueue(_ files: [(String, String)], _ options: String = "") async throws -> Int64 {
        try await enqueue(files.map { try MigrationFile(name: $0.0, text: $0.1) }, options)
    }

    func enqueue(_ files: [MigrationFile], _ options: String = "") async throws -> Int64 {
        let documents = try JSONText(
            encoding: files.map {
                ["name": $0.name, "text": $0.text, "down": $0.downText].compactMapValues { $0 }
            }
        )
        let id = try await database.value(
            "select bulkhead.migrate(\(documents)::jsonb \(unsafe: options.isEmpty ? "" : ", " + options))"
        )
        return try #require(id.flatMap(Int64.init))
    }

    /// Applies files by a daemon that ends when nothing is left.
    @discardableResult
    func migrate(_ files: [(String, String)], _ options: String = "") async throws -> Ending {
        let job = try await enqueue(files, options)
        try await drain()
        return try await ending(of: job)
    }

    func drain() async throws {
        try await TestDaemon.start(database, [MigrationHandler()]) { $0.drains = true }.wait()
    }

    func ending(of job: Int64) async throws -> Ending {
        let row = try await database.rows(
            "select state, last_error, result::text from bulkhead.job_status where id = \(job)"
        )[0]
        return Ending(state: row[0] ?? "", error: row[1], result: row[2])
    }

    /// Applies files, which must do.
    func apply(_ files: [(String, String)], _ options: String = "") async throws {
        try await apply(files.map { try MigrationFile(name: $0.0, text: $0.1) }, options)
    }

    func apply(_ files: [MigrationFile], _ options: String = "") async throws {
        let job = try await enqueue(files, options)
        try await drain()
        let ending = try await ending(of: job)
        try #require(ending.state == "completed", "\(ending.error ?? "")")
    }

    func expect(_ query: SQL, _ value: String?) async throws {
        #expect(try await database.value(query) == value)
    }
}
