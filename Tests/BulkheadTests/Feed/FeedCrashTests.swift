import BulkheadTesting
import Postgres
import PostgresServer
import Testing

/// A server that is killed hands out ids of transactions again that had rolled back.
@Suite struct FeedCrashTests {
    private static let publish = "select bulkhead.publish('public.t', 'update', '[1]', null)"

    /// Nothing that would note a transaction id by and by.
    private static let settings = [
        "wal_writer_delay": "10s", "wal_level": "minimal", "max_wal_senders": "0",
        "autovacuum": "off",
    ]

    @Test func changesOfIdsThatAreHandedOutAgainAreSeen() async throws {
        try await withOwnServer(.init(settings: Self.settings)) { server, database in
            var token = try await database.value("select bulkhead.current_token()")
            var random = SplitMix(state: 7)
            var (seen, again, missedUncut) = ([Int64](), 0, 0)
            for _ in 0..<12 {
                let session = try await database.session()
                try await session.run("\(Self.publish); \(Self.publish)")
                let open = try await database.session()
                try await open.run("begin; \(Self.publish)")
                var rolledBack: Set<String> = []
                for _ in 0...random.below(4) {
                    try await session.run("begin; \(Self.publish)")
                    if let xid = try await session.value("select pg_current_xact_id()") {
                        rolledBack.insert(xid)
                    }
                    try await session.run("rollback")
                }
                var reader = try await FeedReader(session, from: token)
                try await reader.read(max: 1 + random.below(3))
                let uncut = try await session.value("select pg_current_snapshot()")
                try await server.kill()
                try await server.start()
                let after = try await database.session()
                for _ in 0...random.below(4) {
                    try await after.run("begin; \(Self.publish)")
                    let xid = try await after.value("select pg_current_xact_id()")
                    try await after.run("commit")
                    if let xid, rolledBack.contains(xid) {
                        again += 1
                        let isMissed = try await after.value(
                            "select pg_visible_in_snapshot(\(xid)::xid8, \(uncut)::pg_snapshot)"
                        )
                        if isMissed == "t" { missedUncut += 1 }
                    }
                }
                var survivor = try await FeedReader(after, from: reader.token)
                try await survivor.readAll(max: 2)
                seen += reader.seen + survivor.seen
                token = survivor.token
            }
            let all = try await database.rows("select id from bulkhead.change order by id")
            #expect(seen.sorted() == all.compactMap { $0[0].flatMap { Int64($0) } })
            // Else nothing was shown.
            #expect(again > 0)
            #expect(missedUncut > 0)
        }
    }
}
