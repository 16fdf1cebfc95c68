import BulkheadTesting
import Postgres
import PostgresServer
import Testing

/// Each reader sees each change once, whatever the order in which its writers commit.
@Suite struct InterleavingTests {
    @Test func everyReaderSeesEveryChangeOnceInTwoHundredInterleavings() async throws {
        try await TestDatabase.with { database in
            let writers = try await sessions(4, database)
            let looks = try await sessions(5, database)
            let old = try await database.session()
            try await old.run(
                "begin isolation level repeatable read; select count(*) from bulkhead.change"
            )
            let holder = try await database.session()
            var missed = [0, 0]
            for seed in 0..<200 {
                // In half of them the oldest transaction has an id as well, below which nothing ends.
                if seed % 2 == 0 { try await holder.run("begin; select pg_current_xact_id()") }
                var scene = FeedScene(
                    seed: UInt64(seed),
                    writers: writers,
                    readers: [
                        try await FeedReader(looks[0]), try await FeedReader(looks[1]),
                        try await FeedReader(looks[2]),
                    ],
                    naive: [
                        try await NaiveReader(looks[3], waitsForOlder: false),
                        try await NaiveReader(looks[4], waitsForOlder: true),
                    ]
                )
                try await scene.play(steps: 60)
                for reader in scene.readers {
                    #expect(reader.seen.sorted() == scene.committed.sorted(), "seed \(seed)")
                }
                if seed % 2 == 0 { try await holder.run("commit") }
                for index in scene.naive.indices {
                    // What only waits for the oldest transaction is not missed.
                    if seed % 2 == 0, scene.naive[index].waitsForOlder { continue }
                    missed[index] += scene.committed.subtracting(scene.naive[index].seen).count
                }
            }
            // Else the interleavings would not tell a good reader from a bad one.
            #expect(missed[0] > 0)
            #expect(missed[1] > 0)
        }
    }

    /// Whoever changed a row after another one comes after it, though its transaction may be the older one.
    @Test func changesOfOneRowComeInTheOrderInWhichTheyWereMade() async throws {
        try await TestDatabase.with { database in
            try await database.run("create table t (id int primary key); insert into t values (1)")
            let (older, younger) = (try await database.session(), try await database.session())
            var reader = try await FeedReader(try await database.session())
            try await older.run("begin; select pg_current_xact_id()")
            let publish = "select bulkhead.publish('public.t', 'update', '[1]', null)"
            try await younger.run("begin; update t set id = 1; \(publish); commit")
            try await older.run("update t set id = 1; \(publish); commit")
            try await reader.readAll()
            let order = try await database.rows("select id from bulkhead.change order by id")
            #expect(reader.seen.map { "\($0)" } == order.compactMap { $0[0] })
            try await database.expect(
                "select bool_and(xid = first) from (select xid, first_value(xid) over (order by id desc) as first from bulkhead.change order by xid limit 1) c",
                "t"
            )
        }
    }

    @Test func aReaderInATransactionThatWritesSeesItsOwnChangesOnceAfterItsEnd() async throws {
        try await TestDatabase.with { database in
            let publish = "select bulkhead.publish('public.t', 'update', '[1]', null)"
            let (mine, other) = (try await database.session(), try await database.session())
            var reader = try await FeedReader(mine)
            try await other.run(publish)
            try await mine.run("begin; \(publish)")
            try await other.run(publish)
            try await reader.readAll(max: 1)
            #expect(reader.seen == [1, 3])
            try await mine.run(publish)
            try await other.run(publish)
            try await reader.readAll()
            #expect(reader.seen == [1, 3, 5])
            try await mine.run("commit")
            try await reader.readAll(max: 1)
            #expect(reader.seen == [1, 3, 5, 2, 4])
            // What is rolled back was never there.
            try await mine.run("begin; \(publish)")
            try await reader.readAll()
            try await other.run(publish)
            try await reader.readAll()
            try await mine.run("rollback")
            try await reader.readAll()
            #expect(reader.seen == [1, 3, 5, 2, 4, 7])
        }
    }

    /// What a transaction writes under savepoints is its own, and what it takes back was never there.
    @Test func changesBehindSavepointsComeWithTheirTransaction() async throws {
        try await TestDatabase.with { database in
            let publish = "select bulkhead.publish('public.t', 'update', '[1]', null)"
            let (writer, other) = (try await database.session(), try await database.session())
            var reader = try await FeedReader(try await database.session())
            try await writer.run(
                "begin; savepoint a; \(publish); rollback to a; savepoint b; \(publish); release b"
            )
            try await other.run(publish)
            try await reader.readAll()
            try await writer.run("savepoint c; \(publish)")
            try await reader.readAll()
            #expect(reader.seen == [3])
            try await writer.run("commit")
            try await reader.readAll(max: 1)
            #expect(reader.seen == [3, 2, 4])
        }
    }

    @Test func preparedTransactionsAreUnseenUntilTheyCommit() async throws {
        try await withOwnServer(.init(settings: ["max_prepared_transactions": "5"])) {
            server,
            database in
            let publish = "select bulkhead.publish('public.t', 'update', '[1]', null)"
            try await database.run("begin; \(publish); prepare transaction 'p'")
            try await database.run(publish)
            var reader = try await FeedReader(try await database.session())
            try await reader.readAll()
            let token = reader.token
            try await server.restart(.immediate)
            try await database.run("update bulkhead.feed set keep = '0'")
            try await database.expect("select bulkhead.remove_changes()", "0")
            try await database.run("commit prepared 'p'")
            var later = try await FeedReader(try await database.session(), from: token)
            try await later.readAll()
            #expect(later.seen == [1])
        }
    }

    private func sessions(_ count: Int, _ database: TestDatabase) async throws -> [TestSession] {
        var sessions: [TestSession] = []
        for _ in 0..<count { sessions.append(try await database.session()) }
        return sessions
    }
}
