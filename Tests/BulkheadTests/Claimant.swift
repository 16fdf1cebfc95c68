import BulkheadTesting
import Foundation
import Postgres

/// A daemon's row and the statements of its scheduler, by hand.
struct Claimant: Sendable {
    let id = UUID().uuidString.lowercased()
    let session: TestSession

    init(_ database: TestDatabase, lease: String = "60 s") async throws {
        session = try await database.session()
        _ = try await session.rows(
            """
            select bulkhead.register_daemon(\(id), 'h', 1, 'x/1', '1', '{k}', '{default}', 1,
                \(lease)::interval)
            """
        )
    }

    /// Claims, and returns the ids.
    func claim(
        queue: String = "default",
        kinds: [String] = ["k"],
        small: [String] = [],
        host: String = "h",
        bunch: Int = 100,
        after: (priority: Int32, id: Int64)? = nil
    ) async throws -> [Int64] {
        try await session.rows(
            """
            select id from bulkhead.claim(\(id), \(queue), \(kinds), \(small), \(host), \(bunch),
                \(after?.priority), \(after?.id))
            """
        ).compactMap { $0[0].flatMap { Int64($0) } }
    }

    /// Ends an attempt, and returns the state that the job is in then.
    func finish(
        _ job: Int64,
        attempt: Int = 1,
        _ outcome: String,
        message: String? = nil
    ) async throws -> String? {
        try await session.value(
            """
            select bulkhead.finish(\(job), \(attempt), \(id), \(outcome), null, null, \(message), null, null)
            """
        )
    }

    /// Commits an empty batch.
    func commitBatch(_ job: Int64, attempt: Int = 1, batches: Int = 0) async throws {
        _ = try await session.rows(
            """
            select bulkhead.commit_batch(\(job), \(attempt), \(id), \(batches), '{"at": 1}', 10, 20, null)
            """
        )
    }
}
