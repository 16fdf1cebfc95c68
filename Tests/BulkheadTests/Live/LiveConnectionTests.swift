import Bulkhead
import BulkheadTesting
import Postgres
import PostgresServer
import Testing

/// A live query goes on, whatever happens to its connection, its token and its consumer.
@Suite struct LiveConnectionTests {
    private static let table = """
        create table t (id int primary key, n int); select bulkhead.track('t');
        insert into t select n, n from generate_series(1, 100) n
        """
    private static let endSessions = """
        select pg_terminate_backend(pid, 5000) from pg_stat_activity
        where datname = current_database() and application_name = 'bulkhead live'
        """

    private func query(_ database: TestDatabase, at address: DatabaseAddress? = nil) -> LiveQuery<
        Line
    > {
        database.query(of: "t", "id, n", count: 2, orderBy: "n", at: address)
    }

    @Test func anEndedSessionIsOpenedAgainAndNothingIsMissed() async throws {
        try await TestDatabase.with { database in
            try await database.run(Self.table)
            var follower = Follower(query(database))
            try await follower.next()
            for id in 1...5 {
                try await database.run(Self.endSessions)
                // Nobody rings: it is what it reads after it listens that brings this.
                try await database.run("delete from t where id = \(id)")
                #expect(try await follower.next().difference.deleted == [0])
            }
        }
    }

    @Test func aServerThatCrashesIsWaitedFor() async throws {
        try await withOwnServer { server, database in
            try await database.run(Self.table)
            let notes = TestSignal(of: String.self)
            var query = query(database)
            query.settings.note = { notes.send($0) }
            query.settings.poll = .milliseconds(200)
            let snapshots = query.makeAsyncIterator()
            #expect(try await snapshots.next()?.rows.count == 100)
            for id in 1...2 {
                let reading = Task { try await snapshots.next() }
                if id == 1 { try await server.kill() } else { try await server.stop(.fast) }
                while try await !notes.next().contains("away") {}
                try await server.start()
                try await database.run("delete from t where id = \(id)")
                #expect(try await reading.value?.difference.deleted == [0])
            }
        }
    }

    @Test func aDeadSocketIsFoundOut() async throws {
        try await TestDatabase.with { database in
            try await database.run(Self.table)
            let proxy = try TestProxy(to: database)
            defer { proxy.close() }
            let notes = TestSignal(of: String.self)
            var query = query(database, at: try DatabaseAddress(proxy.url(database)))
            query.settings.silence = .milliseconds(100)
            query.settings.patience = .milliseconds(300)
            query.settings.note = { notes.send($0) }
            let snapshots = query.makeAsyncIterator()
            _ = try await snapshots.next()
            let reading = Task { try await snapshots.next() }
            proxy.swallowReplies()
            while try await !notes.next().contains("away") {}
            try await database.run("delete from t where id = 7")
            proxy.swallowReplies(false)
            proxy.cut()
            #expect(try await reading.value?.difference.deleted == [6])
        }
    }

    /// The new primary has another history: what its feed says of the old token is "expired".
    @Test func afterAFailoverAllIsReadAgain() async throws {
        try await withOwnServer { server, database in
            try await database.run(Self.table)
            var query = query(database)
            query.settings.poll = .milliseconds(200)
            let snapshots = query.makeAsyncIterator()
            _ = try await snapshots.next()
            try await server.stop(.fast)
            try server.becomeStandby()
            try await server.start()
            let standby = self.query(database).makeAsyncIterator()
            let error = await #expect(throws: PostgresError.self) { try await standby.next() }
            #expect(error?.state?.rawValue == "25006")
            let reading = Task { try await snapshots.next() }
            try await database.expect("select pg_promote()", "t")
            try await database.run("update t set n = 1000 where id = 1")
            let difference = try await reading.value?.difference
            #expect(difference?.moved.map(\.to) == [99])
            #expect(difference?.updated == [99])
        }
    }

    @Test(.enabled(if: TestPooler.isInstalled, "pgbouncer is not installed"), arguments: [1, 3])
    func behindAPoolerInTransactionModeItPolls(_ size: Int) async throws {
        try await TestDatabase.with { database in
            try await database.run(Self.table)
            let pooler = try await TestPooler(to: database, mode: "transaction", size: size)
            defer { pooler.close() }
            var query = query(database, at: try DatabaseAddress(pooler.url(database)))
            query.settings.pollWithoutListening = .milliseconds(50)
            var follower = Follower(query)
            try await follower.next()
            for id in 1...5 {
                try await database.run("delete from t where id = \(id)")
                #expect(try await follower.next().difference.deleted == [0])
                try await database.run(
                    """
                    select pg_terminate_backend(pid, 5000) from pg_stat_activity
                    where datname = current_database() and pid <> pg_backend_pid()
                    """
                )
            }
        }
    }

    @Test func whoAsksLateIsGivenTheNewest() async throws {
        try await TestDatabase.with { database in
            try await database.run(Self.table)
            var query = query(database)
            query.page = 2
            var follower = Follower(query)
            try await follower.next()
            for id in 1...20 { try await database.change("delete from t where id = \(id)") }
            try await database.change("insert into t values (1, 50)")
            let snapshot = try await follower.next()
            #expect(snapshot.rows.count == 81)
            #expect(snapshot.difference.deleted == Array(1..<20))
            #expect(snapshot.difference.moved.map(\.from) == [0])
        }
    }

    @Test func whoIsAwayLongerThanChangesAreKeptReadsAllAgain() async throws {
        try await withOwnServer { _, database in
            try await database.run(Self.table)
            var follower = Follower(query(database))
            try await follower.next()
            try await database.run(
                "update bulkhead.feed set keep = '0'; delete from t where id = 5"
            )
            try await database.run("update t set n = 0 where id = 9")
            try await database.waitUntil("select bulkhead.remove_changes() > 0 from bulkhead.feed")
            try await database.expect("select count(*) from bulkhead.change", "0")
            let snapshot = try await follower.next()
            #expect(snapshot.difference.deleted == [4])
            #expect(snapshot.difference.moved.map(\.to) == [0])
            let rows = try await database.rows("select id::text, n from t order by n, id")
            #expect(snapshot.lines == rows.map { "\($0[0] ?? "")|\($0[1] ?? "")" })
        }
    }

    @Test func changesThatComeTogetherAreOneSnapshot() async throws {
        try await TestDatabase.with { database in
            try await database.run(Self.table)
            var query = query(database)
            query.burst = .seconds(3)
            let snapshots = query.makeAsyncIterator()
            _ = try await snapshots.next()
            let reading = Task { try await snapshots.next() }
            try await database.waitUntil(
                """
                select count(*) = 1 from pg_stat_activity
                where datname = current_database() and application_name = 'bulkhead live'
                    and query like 'commit%' and state = 'idle'
                """
            )
            for id in 1...10 { try await database.change("delete from t where id = \(id)") }
            #expect(try await reading.value?.difference.deleted == Array(0..<10))
        }
    }

    @Test func anEndedTaskEndsTheSequence() async throws {
        try await TestDatabase.with { database in
            try await database.run(Self.table)
            let query = query(database)
            let begun = TestSignal()
            let reading = Task {
                for try await _ in query { begun.send() }
            }
            try await begun.next()
            reading.cancel()
            try await reading.value
            try await database.waitUntil(
                """
                select count(*) = 0 from pg_stat_activity
                where datname = current_database() and application_name = 'bulkhead live'
                """
            )
        }
    }
}
