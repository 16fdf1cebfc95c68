import Bulkhead
import BulkheadTesting
import Postgres
import PostgresServer
import Testing

/// A reader in Swift, whatever happens to its connection.
@Suite struct ChangeFeedTests {
    private static func publish(_ id: Int, _ relation: String = "public.t") -> String {
        "select bulkhead.publish('\(relation)', 'update', '[\(id)]', null)"
    }

    /// A feed that notices soon, and whose polls come too late to help unless they are meant to.
    private func feed(
        _ database: TestDatabase,
        since start: ChangeFeed.Start = .now,
        of relations: [String]? = nil,
        poll: Duration = .seconds(120)
    ) -> ChangeFeed {
        var feed = ChangeFeed(database.address, since: start, of: relations)
        feed.settings.poll = poll
        return feed
    }

    private static func isListening(_ count: Int = 1) -> SQL {
        """
        select count(*) = \(count) from pg_stat_activity
        where datname = current_database() and application_name = 'bulkhead feed'
        """
    }

    @Test func changesComeAsTheyAreMade() async throws {
        try await TestDatabase.with { database in
            var changes = feed(database).makeAsyncIterator()
            try await changes.connect()
            try await database.run(
                """
                begin; \(Self.publish(1)); select bulkhead.ring_changes(); commit;
                insert into bulkhead.change (relation, operation, job) values ('public."T u"', 'reset', 7);
                select bulkhead.ring_tracked(); notify bulkhead_change
                """
            )
            let first = try #require(try await changes.next())
            #expect(first.relation == "public.t")
            #expect(first.operation == .update)
            #expect(first.ids == JSONText("[1]"))
            #expect(first.job == nil)
            let second = try #require(try await changes.next())
            #expect(second.relation == "public.\"T u\"")
            #expect(second.operation == .reset)
            #expect(second.ids == nil)
            #expect(second.job == 7)
            try await database.expect(
                "select at = \(second.at)::timestamptz from bulkhead.change where id = \(second.id)",
                "t"
            )
            // From a token of it another reader goes on.
            var other = feed(database, since: .token(first.token)).makeAsyncIterator()
            #expect(try await other.next()?.id == second.id)
        }
    }

    /// Writers that really run at once, on a tracked table, some of which roll back.
    @Test func aStormOfWritersIsSeenOnce() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                "create table t (id int primary key); select bulkhead.track('t')"
            )
            var feed = feed(database, poll: .milliseconds(1))
            feed.page = 3
            var changes = feed.makeAsyncIterator()
            try await changes.connect()
            let writing = Task {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for writer in 0..<8 {
                        group.addTask {
                            let session = try await database.session()
                            for round in 0..<60 {
                                let id = 1000 * writer + 3 * round
                                try await session.run(
                                    """
                                    begin; insert into t values (\(id)); insert into t values (\(id + 1));
                                    \(round % 7 == writer % 7 ? "rollback" : "commit")
                                    """
                                )
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                try await database.run("insert into t values (-1)")
            }
            var seen: [String] = []
            while seen.last != "[-1]", let change = try await changes.next() {
                seen.append(change.ids?.text ?? "")
            }
            try await writing.value
            let stored = try await database.rows("select '[' || id || ']' from t").map { $0[0] }
            #expect(seen.count == stored.count)
            #expect(Set(seen) == Set(stored.compactMap(\.self)))
        }
    }

    @Test func pagesAndRelationsAddUp() async throws {
        try await TestDatabase.with { database in
            for id in 1...30 {
                try await database.run(Self.publish(id, id % 3 == 0 ? "public.u" : "public.t"))
            }
            var feed = feed(database, since: .oldest, of: ["public.t"])
            feed.page = 7
            var seen: [String] = []
            for try await change in feed {
                seen.append(change.ids?.text ?? "")
                if seen.count == 20 { break }
            }
            #expect(seen == (1...30).filter { $0 % 3 != 0 }.map { "[\($0)]" })
        }
    }

    @Test func anEndedTaskEndsTheSequence() async throws {
        try await TestDatabase.with { database in
            let feed = feed(database)
            let reading = Task {
                var count = 0
                for try await _ in feed { count += 1 }
                return count
            }
            try await database.waitUntil(Self.isListening())
            reading.cancel()
            #expect(try await reading.value == 0)
            try await database.waitUntil(Self.isListening(0))
        }
    }

    @Test func anExpiredTokenIsSaidAndNothingElseIs() async throws {
        try await TestDatabase.with { database in
            let token = try #require(try await database.value("select bulkhead.current_token()"))
            try await database.run("update bulkhead.feed set epoch = gen_random_uuid()")
            var changes = feed(database, since: .token(token)).makeAsyncIterator()
            let error = await #expect(throws: TokenExpired.self) { try await changes.next() }
            #expect(error?.description.contains("read the tables again") == true)
            var none = feed(database, since: .token("x")).makeAsyncIterator()
            let refusal = await #expect(throws: PostgresError.self) { try await none.next() }
            #expect(refusal?.state?.rawValue == "22023")
        }
    }

    @Test func anEndedSessionIsOpenedAgainAndNothingIsMissed() async throws {
        try await TestDatabase.with { database in
            var changes = feed(database).makeAsyncIterator()
            try await changes.connect()
            for id in 1...5 {
                try await database.run(
                    """
                    select pg_terminate_backend(pid, 5000) from pg_stat_activity
                    where datname = current_database() and application_name = 'bulkhead feed'
                    """
                )
                // Nobody rings: it is what it reads after it listens that brings this.
                try await database.run(Self.publish(id))
                #expect(try await changes.next()?.ids == JSONText("[\(id)]"))
            }
        }
    }

    @Test func aServerThatCrashesIsWaitedFor() async throws {
        try await withOwnServer { server, database in
            let notes = TestSignal(of: String.self)
            var feed = feed(database, poll: .milliseconds(200))
            feed.settings.note = { notes.send($0) }
            let changes = feed.makeAsyncIterator()
            try await changes.connect()
            for id in 1...3 {
                try await database.run(Self.publish(2 * id - 1))
                let reading = Task { [changes] in
                    var changes = changes
                    return [try await changes.next(), try await changes.next()].map { $0?.ids }
                }
                try await database.waitUntil(Self.isListening())
                if id % 2 == 0 { try await server.stop(.fast) } else { try await server.kill() }
                // It knows, before the server is back.
                while try await !notes.next().contains("away") {}
                try await server.start()
                try await database.run(Self.publish(2 * id))
                let ids = try await reading.value
                #expect(ids == [JSONText("[\(2 * id - 1)]"), JSONText("[\(2 * id)]")])
            }
        }
    }

    /// The socket looks open, and nothing comes through any more.
    @Test func aDeadSocketIsFoundOut() async throws {
        try await TestDatabase.with { database in
            let proxy = try TestProxy(to: database)
            defer { proxy.close() }
            let notes = TestSignal(of: String.self)
            var feed = feed(try database.at(proxy.url(database)))
            feed.settings.silence = .milliseconds(100)
            feed.settings.patience = .milliseconds(300)
            feed.settings.note = { notes.send($0) }
            let changes = feed.makeAsyncIterator()
            try await changes.connect()
            let reading = Task { [changes] in
                var changes = changes
                return try await changes.next()
            }
            proxy.swallowReplies()
            while try await !notes.next().contains("away") {}
            try await database.run(Self.publish(1))
            proxy.swallowReplies(false)
            proxy.cut()
            #expect(try await reading.value?.ids == JSONText("[1]"))
        }
    }

    @Test func itHearsItsOwnRingsAndComplainsOfNothing() async throws {
        try await TestDatabase.with { database in
            let proxy = try TestProxy(to: database)
            defer { proxy.close() }
            let notes = TestSignal(of: String.self)
            var feed = feed(try database.at(proxy.url(database)))
            feed.settings.silence = .milliseconds(10)
            feed.settings.note = { notes.send($0) }
            let changes = feed.makeAsyncIterator()
            try await changes.connect()
            let reading = Task { [changes] in
                var changes = changes
                return try await changes.next()
            }
            // Each ring of its own is one request, and reading after it two.
            while proxy.requests < 60 { await Task.yield() }
            try await database.expect(Self.isListening(), "t")
            try await database.run(Self.publish(1))
            #expect(try await reading.value?.ids == JSONText("[1]"))
            notes.send("end")
            #expect(try await notes.next() == "end")
        }
    }

    @Test func aStandbyThatIsPromotedHasAnotherHistory() async throws {
        try await withOwnServer { server, database in
            let feed = feed(database, poll: .milliseconds(200))
            let changes = feed.makeAsyncIterator()
            try await database.run(Self.publish(1))
            try await changes.connect()
            let reading = Task { [changes] in
                var changes = changes
                return try await changes.next()
            }
            try await database.waitUntil(Self.isListening())
            try await server.stop(.fast)
            try server.becomeStandby()
            try await server.start()
            try await database.expect("select pg_promote()", "t")
            await #expect(throws: TokenExpired.self) { try await reading.value }
        }
    }

    @Test(.enabled(if: TestPooler.isInstalled, "pgbouncer is not installed"), arguments: [1, 3])
    func behindAPoolerInTransactionModeItPollsAndSaysSoOnce(_ size: Int) async throws {
        try await TestDatabase.with { database in
            let pooler = try await TestPooler(to: database, mode: "transaction", size: size)
            defer { pooler.close() }
            let notes = TestSignal(of: String.self)
            var feed = feed(try database.at(pooler.url(database)))
            feed.settings.pollWithoutListening = .milliseconds(50)
            feed.settings.note = { notes.send($0) }
            var changes = feed.makeAsyncIterator()
            try await changes.connect()
            for id in 1...3 {
                try await database.run(Self.publish(id))
                #expect(try await changes.next()?.ids == JSONText("[\(id)]"))
                try await database.run(
                    """
                    select pg_terminate_backend(pid, 5000) from pg_stat_activity
                    where datname = current_database() and pid <> pg_backend_pid()
                    """
                )
            }
            notes.send("end")
            var all: [String] = []
            while all.last != "end" { all.append(try await notes.next()) }
            #expect(all.filter { $0.contains("LISTEN cannot work") }.count == 1)
            // Nothing of its own is left in the pool's sessions.
            try await database.expect(
                """
                select count(*) from pg_stat_activity
                where datname = current_database() and application_name = 'bulkhead feed'
                """,
                "0"
            )
        }
    }

    @Test(.enabled(if: TestPooler.isInstalled, "pgbouncer is not installed"))
    func behindAPoolerInSessionModeItListens() async throws {
        try await TestDatabase.with { database in
            let pooler = try await TestPooler(to: database, mode: "session", size: 5)
            defer { pooler.close() }
            let changes = feed(try database.at(pooler.url(database))).makeAsyncIterator()
            try await changes.connect()
            let reading = Task { [changes] in
                var changes = changes
                return try await changes.next()
            }
            try await database.run(
                "begin; \(Self.publish(1)); select bulkhead.ring_changes(); commit"
            )
            #expect(try await reading.value?.ids == JSONText("[1]"))
        }
    }

    @Test func theFirstConnectionIsNotTriedAgain() async throws {
        try await TestDatabase.with { database in
            let proxy = try TestProxy(to: database)
            defer { proxy.close() }
            proxy.refuse()
            var changes = feed(try database.at(proxy.url(database))).makeAsyncIterator()
            let error = await #expect(throws: PostgresError.self) { try await changes.next() }
            #expect(error?.kind == .unavailable)
        }
    }
}
