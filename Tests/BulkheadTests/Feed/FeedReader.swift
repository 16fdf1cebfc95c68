import BulkheadTesting
import Postgres

/// A reader of the feed as a user would write it: it keeps one token, and goes on from there.
struct FeedReader {
    let session: TestSession
    private(set) var token: String
    /// The ids of the changes that it has seen, in their order.
    private(set) var seen: [Int64] = []

    /// Starts from now, or from a token.
    init(_ session: TestSession, from token: String? = nil) async throws {
        self.session = session
        if let token {
            self.token = token
        } else {
            self.token = try await session.value("select bulkhead.current_token()") ?? ""
        }
    }

    /// Reads a page, takes in its first rows and forgets the others.
    ///
    /// - Parameters:
    ///   - max: How many rows it asks for.
    ///   - takes: How many of them it takes in before it stops.
    /// - Returns: How many rows there were.
    /// - Throws: What the server says.
    @discardableResult
    mutating func read(max: Int = 1000, takes: Int = .max) async throws -> Int {
        let present = try await session.value("select bulkhead.current_token()")
        let rows = try await session.rows(
            "select id, token from bulkhead.changes_since(\(token), max => \(max))"
        )
        if rows.isEmpty, let present { token = present }
        for row in rows.prefix(takes) {
            if let id = row[0].flatMap({ Int64($0) }) { seen.append(id) }
            if let after = row[1] { token = after }
        }
        return rows.count
    }

    /// Reads until there is nothing left.
    mutating func readAll(max: Int = 1000) async throws {
        while try await read(max: max) > 0 {}
    }
}
