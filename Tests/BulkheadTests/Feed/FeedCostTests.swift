import BulkheadTesting
import Foundation
import Postgres
import Testing

/// A call costs what it returns, not what is kept.
@Suite struct FeedCostTests {
    /// The blocks that a statement read.
    private func blocks(_ session: TestSession, _ call: String) async throws -> Int {
        let plan = try await session.value(
            SQL(unsafe: "explain (analyze, buffers, format json) \(call)")
        )
        let json = try JSONSerialization.jsonObject(with: Data((plan ?? "").utf8))
        let top = (json as? [[String: Any]])?.first?["Plan"] as? [String: Any]
        let hit = try #require(top?["Shared Hit Blocks"] as? Int)
        return try hit + #require(top?["Shared Read Blocks"] as? Int)
    }

    @Test func changesThatAreKeptCostNothingWhileAnOldTransactionIsOpen() async throws {
        try await TestDatabase.with { database in
            let old = try await database.session()
            try await old.run(
                "begin isolation level repeatable read; select pg_current_xact_id()"
            )
            let session = try await database.session()
            for _ in 0..<100 {
                try await session.run(
                    """
                    insert into bulkhead.change (relation, operation, ids)
                    select 'public.t' || n % 7, 'update', '[1]' from generate_series(1, 5000) n
                    """
                )
            }
            try await session.run("analyze bulkhead.change; select pg_stat_force_next_flush()")
            try await session.run("select pg_stat_force_next_flush()")
            let before = try await scans(session)
            let publish = "select bulkhead.publish('public.t', 'update', '[1]', null)"
            var (most, mostOfToken, calls) = (0, 0, 0)
            for _ in 0..<20 {
                let token = try #require(
                    try await session.value("select bulkhead.current_token()")
                )
                try await session.run("\(publish); \(publish); \(publish)")
                for call in [
                    "bulkhead.changes_since('\(token)')",
                    "bulkhead.changes_since('\(token)', null, 2)",
                    "bulkhead.changes_since('\(token)', '{public.t,public.x}')",
                    // A page inside of a window.
                    """
                    bulkhead.changes_since((select c.token from bulkhead.changes_since(
                        '\(token)', null, 1) c))
                    """,
                ] {
                    most = max(most, try await blocks(session, "select * from \(call)"))
                    calls += 1
                }
                mostOfToken = max(
                    mostOfToken,
                    try await blocks(session, "select bulkhead.current_token()")
                )
            }
            // Of the some 10,000 that the table and its index have; the first calls read the catalogs as well.
            #expect(most < 400, "\(most) blocks")
            #expect(mostOfToken < 400, "\(mostOfToken) blocks")
            try await session.run("select pg_stat_force_next_flush()")
            let after = try await scans(session)
            #expect(after[0] == before[0], "the table was scanned")
            #expect(after[1] - before[1] >= calls, "the index was not used")
            // A handful of rows each, of half a million.
            #expect(after[2] - before[2] < calls * 50)
        }
    }

    /// Scans of the whole table, scans by the index on (xid, id), and rows read through any index.
    private func scans(_ session: TestSession) async throws -> [Int] {
        let row = try await session.rows(
            """
            select t.seq_scan, i.idx_scan,
                (select sum(a.idx_tup_read) from pg_stat_user_indexes a where a.relid = t.relid)
            from pg_stat_user_tables t join pg_stat_user_indexes i using (relid)
            where t.relid = 'bulkhead.change'::regclass and i.indexrelname = 'change_xid'
            """
        )
        return try row[0].map { try #require($0.flatMap { Int($0) }) }
    }
}
