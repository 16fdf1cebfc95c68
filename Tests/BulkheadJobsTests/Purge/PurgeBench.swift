import Bulkhead
import BulkheadTesting
import Foundation
import Postgres
import Testing

@testable import BulkheadJobs

/// A database and a root for archives of one test, and daemons of the test's process that purge.
struct PurgeBench: JobBench {
    let database: TestDatabase
    let folder: TemporaryDirectory
    let log: TestLog

    var handlers: [any JobHandler] {
        [PurgeHandler(importRoot: folder.path), RestoreHandler(importRoot: folder.path)]
    }

    /// Purges a table, with named arguments of `bulkhead.purge` as SQL.
    func purge(_ table: String, _ options: String) async throws -> PurgedJob {
        let job = try await enqueue(table, options)
        try await drain()
        return try await outcome(of: job)
    }

    func enqueue(_ table: String, _ options: String) async throws -> Int64 {
        let rest = options.isEmpty ? "" : ", " + options
        return try await id("select bulkhead.purge(\(quoted(literal: table))\(rest))")
    }

    /// Brings back what a purge archived.
    func restore(_ purge: Int64, _ options: String = "") async throws -> PurgedJob {
        let rest = options.isEmpty ? "" : ", " + options
        let job = try await id("select bulkhead.restore(\(purge)\(rest))")
        try await drain()
        return try await outcome(of: job)
    }

    private func id(_ call: String) async throws -> Int64 {
        Int64(try await value(call) ?? "") ?? 0
    }

    /// A checksum of all rows of a table, whatever their order.
    func checksum(_ table: String) async throws -> String? {
        try await value("select md5(string_agg(t::text, '|' order by t::text)) from \(table) t")
    }

    /// The keys that the feed says were deleted, updated or inserted in a table; `all` for a reset.
    func changes(_ operation: String, _ relation: String) async throws -> [String?] {
        try await rows(
            """
            select coalesce(key::text, 'all') from bulkhead.change c
            left join lateral jsonb_array_elements(c.ids) as e (key) on true
            where operation = '\(operation)' and relation = '\(relation)' order by key, 1
            """
        ).map { $0[0] }
    }

    private static func decoded<Report: Decodable>(_ text: String?) throws -> Report? {
        try text.map { try JSONText($0).decode() }
    }

    func outcome(of job: Int64) async throws -> PurgedJob {
        let row = try await rows(
            """
            select j.state, j.result::text, j.batches, j.attempt,
                (select e.message from bulkhead.job_error e where e.job = j.id order by e.id desc limit 1),
                j.checkpoint ->> 'condition', j.kind
            from bulkhead.job j where j.id = \(job)
            """
        )[0]
        return PurgedJob(
            id: job,
            state: row[0] ?? "",
            result: row[1],
            batches: Int(row[2] ?? "") ?? 0,
            attempt: Int(row[3] ?? "") ?? 0,
            error: row[4],
            condition: row[5],
            report: try Self.decoded(row[6] == "purge" ? row[1] : nil) ?? PurgeReport(),
            restored: try Self.decoded(row[6] == "restore" ? row[1] : nil) ?? RestoreReport()
        )
    }
}

/// What a purge or a restore left: how it ended and its figures.
struct PurgedJob: Sendable {
    let id: Int64
    let state: String
    let result: String?
    let batches: Int
    let attempt: Int
    /// Of the last attempt.
    let error: String?
    let condition: String?

    let report: PurgeReport
    let restored: RestoreReport
}
