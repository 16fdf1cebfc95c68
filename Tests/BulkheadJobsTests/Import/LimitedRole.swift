import Bulkhead
import BulkheadTesting
import Foundation
import Postgres

/// A role of one test, under which a daemon runs.
struct LimitedRole {
    let name: String
    let address: DatabaseAddress

    /// Makes a role that may run a daemon and nothing else, runs the closure, and drops the role.
    static func with<Result>(
        in database: TestDatabase,
        _ body: (LimitedRole) async throws -> Result
    ) async throws -> Result {
        let name = "limited_" + UUID().uuidString.lowercased().filter { $0 != "-" }
        let separator = database.url.contains("?") ? "&" : "?"
        let role = LimitedRole(
            name: name,
            address: try DatabaseAddress("\(database.url)\(separator)user=\(name)&password=\(name)")
        )
        try await database.run(
            "create role \(name) login password '\(name)'; select bulkhead.grant_daemon('\(name)')"
        )
        let result: Swift.Result<Result, any Error>
        do {
            result = .success(try await body(role))
        } catch {
            result = .failure(error)
        }
        try await database.run("drop owned by \(name); drop role \(name)")
        return try result.get()
    }
}
