import Bulkhead
import BulkheadTesting
import Postgres
import Testing

/// A row of the tests' queries: its values as text, a mark where one is NULL.
struct Line: Sendable, Equatable, CustomStringConvertible {
    var values: [String]

    init(_ values: String...) { self.values = values }

    init(_ rows: borrowing Rows, _ row: Int, count: Int) throws {
        values = try (0..<count).map { try rows.value(row, $0, as: String.self) ?? "NULL" }
    }

    var description: String { values.joined(separator: "|") }
}

extension LiveSnapshot<Line> {
    /// The rows in short.
    var lines: [String] { rows.map(\.description) }

    /// What comes of older rows when the difference is done to them; the new rows lend only what the difference says
    /// is new.
    func applied(to old: [Line]) -> [Line] {
        var result = old
        let gone = difference.deleted + difference.moved.map(\.from)
        for place in gone.sorted(by: >) { result.remove(at: place) }
        var arrivals = difference.inserted.map { (to: $0, row: rows[$0]) }
        arrivals += difference.moved.map { (to: $0.to, row: old[$0.from]) }
        for arrival in arrivals.sorted(by: { $0.to < $1.to }) {
            result.insert(arrival.row, at: arrival.to)
        }
        for place in difference.updated { result[place] = rows[place] }
        return result
    }
}

/// Follows a query, and checks that each difference makes one snapshot of the one before.
struct Follower {
    private let snapshots: LiveQuery<Line>.Iterator
    private(set) var rows: [Line] = []

    init(_ query: LiveQuery<Line>) {
        snapshots = query.makeAsyncIterator()
    }

    @discardableResult
    mutating func next() async throws -> LiveSnapshot<Line> {
        let snapshot = try #require(try await snapshots.next())
        #expect(snapshot.applied(to: rows) == snapshot.rows)
        #expect(Set(snapshot.ids).count == snapshot.rows.count)
        rows = snapshot.rows
        return snapshot
    }

    /// Takes snapshots until one is as it should be.
    mutating func next(
        within limit: Duration = .seconds(60),
        until isReached: @Sendable (LiveSnapshot<Line>) -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + limit
        while try await !isReached(next()) {
            if .now > deadline { throw TimedOut(what: "a snapshot") }
        }
    }
}

extension TestDatabase {
    /// A query whose rows are lines, which reads by ids wherever it can and hears of nothing but rings.
    func query(
        of table: String,
        _ columns: SQL,
        count: Int,
        where filter: SQL? = nil,
        orderBy order: SQL? = nil,
        limit: Int? = nil,
        at address: DatabaseAddress? = nil,
        decoding: @escaping @Sendable () -> Void = {}
    ) -> LiveQuery<Line> {
        var query = LiveQuery(
            address ?? self.address,
            of: table,
            columns: columns,
            where: filter,
            orderBy: order,
            limit: limit
        ) { rows, row in
            decoding()
            return try Line(rows, row, count: count)
        }
        query.costOfID = .zero
        query.burst = .milliseconds(5)
        query.settings.poll = .seconds(120)
        return query
    }

    /// Changes something and rings.
    func change(_ script: String) async throws {
        try await run("\(script); notify bulkhead_change")
    }
}
