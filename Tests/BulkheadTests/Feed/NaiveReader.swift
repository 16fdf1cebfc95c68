import BulkheadTesting
import Postgres

/// A reader that keeps the greatest id it has seen, as one would write it at first; it misses changes.
struct NaiveReader {
    let session: TestSession
    /// Whether it leaves what is not below the snapshot's xmin for later.
    let waitsForOlder: Bool
    private var last: Int64
    /// The ids of the changes that it has seen.
    private(set) var seen: [Int64] = []

    init(_ session: TestSession, waitsForOlder: Bool) async throws {
        self.session = session
        self.waitsForOlder = waitsForOlder
        let last = try await session.value("select coalesce(max(id), 0) from bulkhead.change")
        self.last = last.flatMap { Int64($0) } ?? 0
    }

    mutating func read() async throws {
        let rows = try await session.rows(
            """
            select id from bulkhead.change
            where id > \(last)
                and (not \(waitsForOlder) or xid < pg_snapshot_xmin(pg_current_snapshot()))
            order by id
            """
        )
        let ids = rows.compactMap { $0[0].flatMap { Int64($0) } }
        seen += ids
        last = ids.last ?? last
    }
}
