import Bulkhead
import BulkheadTesting
import Postgres
import Testing

/// A query's result follows its table.
@Suite struct LiveQueryTests {
    private static let table = """
        create table t (id int primary key, name text, n int);
        select bulkhead.track('t');
        insert into t select n, 'name ' || n, n % 10 from generate_series(1, 1000) n
        """

    @Test func onlyTheRowsThatChangedAreReadAgain() async throws {
        try await TestDatabase.with { database in
            try await database.run(Self.table)
            let decoded = Lock(0)
            var follower = Follower(
                database.query(
                    of: "t",
                    "id, n",
                    count: 2,
                    where: "n > \(3)",
                    orderBy: "n desc, id"
                ) { decoded.withLock { $0 += 1 } }
            )
            let first = try await follower.next()
            #expect(first.rows.count == 600)
            #expect(first.difference.inserted == Array(0..<600))
            #expect(decoded.withLock { $0 } == 600)
            // 9|9 moves to the front, 19|9 stays, 29|9 goes, 1|1 comes, 2|2 stays away, 999|9 is deleted.
            try await database.change(
                """
                begin; update t set n = 10 where id in (1, 9); update t set n = 0 where id = 29;
                update t set name = 'x' where id in (2, 19); delete from t where id = 999; commit
                """
            )
            let second = try await follower.next()
            #expect(second.lines.prefix(4) == ["1|10", "9|10", "19|9", "39|9"])
            #expect(second.ids.prefix(2) == ["1", "9"])
            #expect(second.difference.inserted == [0])
            #expect(second.difference.deleted == [2, 99])
            #expect(second.difference.updated == [1])
            #expect(second.difference.moved.isEmpty)
            #expect(decoded.withLock { $0 } == 603)
        }
    }

    @Test func whatChangesNothingOfTheResultIsNoSnapshot() async throws {
        try await TestDatabase.with { database in
            try await database.run(Self.table)
            var follower = Follower(database.query(of: "t", "id", count: 1, where: "n = 1"))
            try await follower.next()
            try await database.change("update t set name = 'x' where n = 2")
            try await database.change("update t set name = 'x' where n = 1")
            try await database.change(
                "create table u (id int primary key); select bulkhead.track('u')"
            )
            try await database.change("insert into u values (1)")
            try await database.change("delete from t where id = 11")
            #expect(try await follower.next().difference.deleted == [1])
        }
    }

    @Test func aMovedRowSaysFromWhereToWhere() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                create table t (id int primary key, n int); select bulkhead.track('t');
                insert into t select n, n from generate_series(0, 9) n
                """
            )
            var follower = Follower(database.query(of: "t", "n", count: 1, orderBy: "n"))
            try await follower.next()
            try await database.change("update t set n = 100 where id = 2")
            let moved = try await follower.next().difference
            #expect(moved.moved.map(\.from) == [2])
            #expect(moved.moved.map(\.to) == [9])
            #expect(moved.updated == [9])
            // All read again tell the same.
            try await database.change(
                "truncate t; insert into t select n, -n from generate_series(3, 12) n"
            )
            let other = try await follower.next()
            #expect(other.difference.deleted == [0, 1, 9])
            #expect(other.lines.first == "-12")
        }
    }

    @Test func aStatementIsRunAgainWhole() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                create table a (id int primary key, name text); create table b (a int, n int);
                select bulkhead.track('a'), bulkhead.track('b');
                insert into a values (1, 'one'), (2, 'two'); insert into b values (1, 5), (1, 6), (2, 7)
                """
            )
            let statement: SQL = """
                select a.name, sum(b.n) from a join b on b.a = a.id where b.n > \(1) group by 1 order by 2
                """
            for key in ["name", nil] {
                var query = LiveQuery(
                    database.address,
                    running: statement,
                    dependingOn: ["a", "public.b"],
                    key: key
                ) { try Line($0, $1, count: 2) }
                query.settings.poll = .seconds(120)
                var follower = Follower(query)
                #expect(try await follower.next().lines == ["two|7", "one|11"])
                // It has no key: its changes come without ids.
                try await database.change("update b set n = n + 10 where n = 7")
                let second = try await follower.next()
                #expect(second.lines == ["one|11", "two|17"])
                #expect(second.difference.moved.count == (key == nil ? 0 : 1))
                try await database.change("update b set n = 7 where n = 17")
                try await follower.next()
            }
        }
    }

    @Test func withALimitRowsComeInFromBehind() async throws {
        try await TestDatabase.with { database in
            try await database.run(Self.table)
            var follower = Follower(
                database.query(of: "t", "id", count: 1, orderBy: "id desc", limit: 3)
            )
            #expect(try await follower.next().lines == ["1000", "999", "998"])
            try await database.change("delete from t where id = 999")
            let second = try await follower.next()
            #expect(second.lines == ["1000", "998", "997"])
            #expect(second.difference.deleted == [1])
            #expect(second.difference.inserted == [2])
        }
    }

    @Test func aTableWithoutAKeyIsReadWhole() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                "create table t (n int, x text); select bulkhead.track('t'); insert into t(n) values (1), (1), (2)"
            )
            var follower = Follower(database.query(of: "t", "n, x", count: 2, orderBy: "n desc"))
            #expect(try await follower.next().lines == ["2|NULL", "1|NULL", "1|NULL"])
            try await database.change("insert into t values (3, 'y'), (1, null)")
            let second = try await follower.next()
            #expect(second.lines == ["3|y", "2|NULL", "1|NULL", "1|NULL", "1|NULL"])
            #expect(second.difference.deleted.isEmpty)
        }
    }

    /// Handlers write keys as they come; a bigint is text in the feed, and a number is the same key.
    @Test func keysThatAJobWroteInItsOwnWayAreFound() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                create table t (a bigint, b text, n int, primary key (a, b));
                insert into t values (1, 'x', 1), (2, 'y "z"', 2), (3, 'ä', 3)
                """
            )
            let notes = Lock<[String]>([])
            var query = database.query(of: "t", "n, b", count: 2, orderBy: "n")
            query.settings.note = { note in notes.withLock { $0.append(note) } }
            var follower = Follower(query)
            #expect(
                try await follower.next().ids == [
                    "[\"1\", \"x\"]", "[\"2\", \"y \\\"z\\\"\"]", "[\"3\", \"ä\"]",
                ]
            )
            #expect(notes.withLock { $0.count } == 1)
            #expect(notes.withLock { $0[0] }.contains("bulkhead.track('public.t')"))
            let daemon = try await TestDaemon.start(
                database,
                [
                    TestHandler("k") { context in
                        try await context.batch { batch in
                            try batch.connection.run(
                                script: "delete from t where a = 2; update t set n = 0 where a = 3"
                            )
                            try batch.publish(
                                .delete,
                                of: "public.t",
                                ids: JSONText("[[2,\"y \\\"z\\\"\"]]")
                            )
                            try batch.publish(
                                .update,
                                of: "public.t",
                                ids: JSONText("[[3, \"\\u00e4\"]]")
                            )
                            return Progress()
                        }
                    }
                ]
            )
            try await database.run("select bulkhead.enqueue('k')")
            #expect(try await follower.next().lines == ["0|ä", "1|x"])
            try await daemon.stop()
            // What is no key of the table at all is answered by reading all.
            try await database.change(
                "update t set n = 9 where a = 1; select bulkhead.publish('public.t', 'update', '[\"?\"]', null)"
            )
            #expect(try await follower.next().lines == ["0|ä", "9|x"])
            try await database.change(
                "update t set n = 8 where a = 1; select bulkhead.publish('public.t', 'update', null, null)"
            )
            #expect(try await follower.next().lines == ["0|ä", "8|x"])
        }
    }

    /// To Swift's strings two spellings of a letter are one; to the database they are two keys.
    @Test func keysAreToldApartAsTheDatabaseDoes() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                create table t (id text primary key, n int); select bulkhead.track('t');
                insert into t values (U&'\\00E4', 1), (U&'a\\0308', 2), ('b', 3)
                """
            )
            for order in ["n", nil] as [SQL?] {
                var follower = Follower(database.query(of: "t", "n", count: 1, orderBy: order))
                #expect(Set(try await follower.next().lines) == ["1", "2", "3"])
                try await database.change("update t set n = n + 10 where id <> 'b'")
                #expect(Set(try await follower.next().lines) == ["11", "12", "3"])
                try await database.change("update t set n = n - 10 where id <> 'b'")
                try await follower.next()
            }
        }
    }

    @Test func aPartitionedTableIsFollowed() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                create table "T t" ("the id" int primary key, n int) partition by range ("the id");
                create table p1 partition of "T t" for values from (0) to (10);
                create table p2 partition of "T t" for values from (10) to (20);
                select bulkhead.track('"T t"'); insert into "T t" values (1, 1), (11, 11)
                """
            )
            var all = Follower(database.query(of: "\"T t\"", "\"the id\", n", count: 2))
            var one = Follower(database.query(of: "p2", "\"the id\", n", count: 2))
            #expect(try await all.next().lines == ["1|1", "11|11"])
            #expect(try await one.next().lines == ["11|11"])
            try await database.change("update \"T t\" set \"the id\" = 12 where n = 1")
            #expect(try await all.next().lines == ["11|11", "12|1"])
            #expect(try await one.next().lines == ["11|11", "12|1"])
        }
    }

    /// Nobody was told of these changes; the rows that it holds do not fit together any more.
    @Test func aHeldRowThatChangedUnheardIsFoundOutWhereItMatters() async throws {
        try await TestDatabase.with { database in
            try await database.run(Self.table)
            var follower = Follower(database.query(of: "t", "id, n", count: 2, orderBy: "n, id"))
            try await follower.next()
            try await database.run(
                "set session_replication_role = replica; delete from t where id % 2 = 0"
            )
            try await database.change("update t set n = 20 where id = 1")
            #expect(try await follower.next().rows.count == 500)
        }
    }

    @Test func whatIsWrongIsSaidByNext() async throws {
        try await TestDatabase.with { database in
            try await database.run(Self.table)
            for (query, words) in [
                (database.query(of: "t", "id", count: 1, where: "n >"), "syntax error"),
                (database.query(of: "nowhere", "id", count: 1), "\"nowhere\" does not exist"),
                (
                    database.query(of: "t", "id, unnest('{1,2}'::int[])", count: 1),
                    "must tell them apart"
                ),
                (database.query(of: "t", "id", count: 5), "no row 0, column 1"),
            ] {
                let error = await #expect(throws: (any Error).self, "\(words)") {
                    try await query.makeAsyncIterator().next()
                }
                let text = error.map { "\($0)" } ?? ""
                #expect(text.contains(words) && !text.contains("\n"), "\(text)")
            }
            var follower = Follower(database.query(of: "t", "id, name", count: 2))
            try await follower.next()
            try await database.change("alter table t drop name; update t set n = 5 where id = 1")
            let error = await #expect(throws: PostgresError.self) { try await follower.next() }
            #expect(error?.message == "column \"name\" does not exist")
        }
    }

    @Test func aRoleNeedsTheTableAndTheReadersGrant() async throws {
        try await TestDatabase.with { database in
            let name = "r_\(database.name)"
            try await database.run(
                "\(Self.table); create role \(name) login; select bulkhead.grant_reader('\(name)')"
            )
            let role = try DatabaseAddress(database.url.replacing("postgres@", with: "\(name)@"))
            let query = database.query(of: "t", "id", count: 1, at: role)
            let error = await #expect(throws: PostgresError.self) {
                try await query.makeAsyncIterator().next()
            }
            #expect(error?.kind == .permission)
            try await database.run("grant select on t to \(name)")
            var follower = Follower(query)
            try await follower.next()
            try await database.change("delete from t where id = 1")
            #expect(try await follower.next().difference.deleted == [0])
            try await database.run("drop owned by \(name); drop role \(name)")
        }
    }
}
