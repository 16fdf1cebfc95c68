import Bulkhead
import BulkheadTesting
import Postgres
import PostgresServer
import Testing

/// What tokens promise: nothing is missed in silence, and pages add up.
@Suite struct TokenTests {
    private static let publish = "select bulkhead.publish('public.t', 'update', '[1]', null)"

    private func expectExpired(
        _ database: TestDatabase,
        _ token: String?,
        because reason: String,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let error = await #expect(throws: PostgresError.self, sourceLocation: location) {
            try await database.rows("select * from bulkhead.changes_since(\(token))")
        }
        #expect(error?.state == SQLState(rawValue: "BH001"), sourceLocation: location)
        #expect(error?.message.hasPrefix("token expired: ") == true, sourceLocation: location)
        #expect(error?.detail?.contains(reason) == true, sourceLocation: location)
    }

    @Test(arguments: [1, 2, 3, 1000])
    func pagesOfAnySizeAddUp(_ max: Int) async throws {
        try await TestDatabase.with { database in
            let session = try await database.session()
            let late = try await database.session()
            try await late.run("begin; \(Self.publish)")
            try await session.run(Self.publish)
            var reader = try await FeedReader(session)
            try await session.run(
                "begin; \(Self.publish); \(Self.publish); \(Self.publish); commit; \(Self.publish)"
            )
            try await late.run("\(Self.publish); commit")
            try await reader.read(max: max)
            // What comes while a window is worked off is the next window's.
            try await session.run("begin; \(Self.publish); \(Self.publish); commit")
            try await reader.readAll(max: max)
            #expect(reader.seen.sorted() == [1, 3, 4, 5, 6, 7, 8, 9])
            #expect(Array(reader.seen.suffix(2)) == [8, 9])
            #expect(try await reader.read() == 0)
        }
    }

    @Test func onlyTheRelationsThatAreAskedForCome() async throws {
        try await TestDatabase.with { database in
            let start = try await database.value("select bulkhead.current_token()")
            try await database.run(
                """
                select bulkhead.publish('public.' || r, 'update', '[1]', null)
                from unnest('{a,b,c,a,b,c,a}'::text[]) r
                """
            )
            var token = start
            var seen: [String?] = []
            while true {
                let rows = try await database.rows(
                    "select id, token from bulkhead.changes_since(\(token), '{public.a,public.c}', 2)"
                )
                if rows.isEmpty { break }
                seen += rows.map { $0[0] }
                token = rows.last?[1]
            }
            #expect(seen == ["1", "3", "4", "6", "7"])
        }
    }

    @Test func theOldestTokenComesBeforeAllThatIsKept() async throws {
        try await withOwnServer { _, database in
            try await database.run("\(Self.publish); \(Self.publish)")
            let oldest = try await database.value("select bulkhead.oldest_token()")
            var reader = try await FeedReader(try await database.session(), from: oldest)
            try await reader.readAll()
            #expect(reader.seen == [1, 2])
            try await database.run("update bulkhead.feed set keep = '0'")
            try await database.expect("select bulkhead.remove_changes()", "2")
            try await expectExpired(database, oldest, because: "were removed")
            try await database.run(Self.publish)
            var later = try await FeedReader(
                try await database.session(),
                from: try await database.value("select bulkhead.oldest_token()")
            )
            try await later.readAll()
            #expect(later.seen == [3])
        }
    }

    @Test func whatIsNoTokenIsRefused() async throws {
        try await TestDatabase.with { database in
            for text in ["", "x", "now", "0123456789abcdef.5", "0123456789abcdef.5-.7-.1-1-", nil] {
                let error = await #expect(throws: PostgresError.self) {
                    try await database.rows("select * from bulkhead.changes_since(\(text))")
                }
                #expect(error?.state?.rawValue == "22023", "\(text ?? "null")")
            }
            let error = await #expect(throws: PostgresError.self) {
                try await database.rows(
                    "select * from bulkhead.changes_since(bulkhead.current_token(), null, 0)"
                )
            }
            #expect(error?.state?.rawValue == "22023")
        }
    }

    @Test func tokensOfAnotherDatabaseAreExpired() async throws {
        try await TestDatabase.with { other in
            let token = try await other.value("select bulkhead.current_token()")
            try await TestDatabase.with { database in
                try await expectExpired(database, token, because: "in another database")
            }
        }
    }

    @Test func tokensOfAnotherInstallationAreExpired() async throws {
        try await TestDatabase.with { database in
            let token = try await database.value("select bulkhead.current_token()")
            let session = try await database.session()
            try await session.use { connection in
                try Installation(connection).remove()
                try Installation(connection).installNow()
            }
            try await expectExpired(database, token, because: "another installation")
        }
    }

    @Test func tokensFromTheFutureAreExpired() async throws {
        try await TestDatabase.with { database in
            try await database.run(Self.publish)
            let token = try #require(try await database.value("select bulkhead.current_token()"))
            let epoch = token.prefix { $0 != "." }
            try await expectExpired(database, "\(epoch).4000000000-", because: "future")
            // A server that was set back to an older state has other changes, or none, in the place.
            try await database.run("delete from bulkhead.change")
            try await expectExpired(database, token, because: "has lost the last change")
        }
    }

    @Test func aTransactionThatBeganBeforeTheTokenSeesNothingNew() async throws {
        try await TestDatabase.with { database in
            let old = try await database.session()
            try await old.run(
                "begin isolation level repeatable read; select 1 from bulkhead.change"
            )
            try await database.run(Self.publish)
            let token = try await database.value("select bulkhead.current_token()")
            try await database.run(Self.publish)
            var reader = try await FeedReader(old, from: token)
            _ = try await old.rows("select * from bulkhead.changes_since(\(token))")
            #expect(reader.seen.isEmpty)
            try await old.run("commit")
            try await reader.readAll()
            #expect(reader.seen == [2])
        }
    }

    @Test func aStandbyRefusesAndItsPromotionExpiresTheTokens() async throws {
        try await withOwnServer { server, database in
            try await database.run(Self.publish)
            let token = try await database.value("select bulkhead.current_token()")
            try await server.stop(.fast)
            try server.becomeStandby()
            try await server.start()
            for call: SQL in [
                "select bulkhead.current_token()", "select * from bulkhead.changes_since(\(token))",
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await database.rows(call)
                }
                #expect(error?.kind == .unavailable)
            }
            try await database.expect("select pg_promote()", "t")
            try await expectExpired(database, token, because: "before a failover")
        }
    }

    @Test func aRestartExpiresNothing() async throws {
        try await withOwnServer { server, database in
            try await database.run(Self.publish)
            let token = try await database.value("select bulkhead.current_token()")
            try await server.restart(.fast)
            try await database.run(Self.publish)
            var reader = try await FeedReader(try await database.session(), from: token)
            try await reader.readAll()
            #expect(reader.seen.count == 1)
        }
    }

    @Test func aRoleThatMayOnlyReadReads() async throws {
        try await TestDatabase.with { database in
            let name = "r_\(database.name)"
            try await database.run(
                "create role \(name) login; select bulkhead.grant_reader('\(name)')"
            )
            let role = try database.at(database.url.replacing("postgres@", with: "\(name)@"))
            var reader = try await FeedReader(try await role.session())
            try await database.run("\(Self.publish); \(Self.publish)")
            try await reader.readAll(max: 1)
            #expect(reader.seen == [1, 2])
            for statement in [
                "select bulkhead.remove_changes()", "delete from bulkhead.change",
                "select bulkhead.enqueue('k')", "select bulkhead.grant_reader('\(name)')",
                "update bulkhead.feed set keep = '0'",
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await role.run(statement)
                }
                #expect(error?.kind == .permission, "\(statement)")
            }
            try await database.run("drop owned by \(name); drop role \(name)")
        }
    }
}
