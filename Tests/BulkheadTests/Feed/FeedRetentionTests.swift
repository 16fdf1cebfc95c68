import Bulkhead
import BulkheadTesting
import Postgres
import Testing

/// Changes leave by age and by size, and never one that someone who asks now could miss.
@Suite struct FeedRetentionTests {
    private static let publish = "select bulkhead.publish('public.t', 'update', '[1]', null)"

    @Test func whatIsPastItsTimeGoesAndTheRestStays() async throws {
        try await withOwnServer { _, database in
            try await database.run(
                """
                begin; \(Self.publish); update bulkhead.change set at = now() - interval '8 days'; commit;
                begin; \(Self.publish); commit;
                begin; \(Self.publish); update bulkhead.change set at = now() - interval '8 days' where id = 3; commit
                """
            )
            try await database.expect("select bulkhead.remove_changes()", "1")
            // Behind one that stays nothing goes: the floor says what is gone.
            try await database.expect("select bulkhead.remove_changes()", "0")
            try await database.expect(
                "select min(id) = 2 and min(xid::text::bigint) > (select floor::text::bigint from bulkhead.feed) from bulkhead.change",
                "t"
            )
        }
    }

    @Test func whatIsTooMuchGoesTheOldestFirst() async throws {
        try await withOwnServer { _, database in
            let session = try await database.session()
            for _ in 0..<50 {
                try await session.run(
                    """
                    insert into bulkhead.change (relation, operation, ids)
                    select 'public.t', 'update', '[1]' from generate_series(1, 100)
                    """
                )
            }
            try await session.run("update bulkhead.feed set keep_bytes = 300000")
            try await session.run("select bulkhead.measure_changes()")
            var batches: [String?] = []
            while batches.last != "0" {
                batches.append(try await session.value("select bulkhead.remove_changes()"))
            }
            #expect(batches.compactMap { $0.flatMap { Int($0) } }.allSatisfy { $0 <= 1000 })
            try await database.expect(
                "select count(*) between 1500 and 2100 and min(id) = 5001 - count(*) from bulkhead.change",
                "t"
            )
            // What was measured is not too much any more.
            try await session.run("select bulkhead.measure_changes()")
            try await database.expect("select bulkhead.remove_changes()", "0")
        }
    }

    @Test func nothingGoesThatATransactionOfNowCouldStillNeed() async throws {
        try await withOwnServer { _, database in
            let old = try await database.session()
            try await database.run("update bulkhead.feed set keep = '0'; \(Self.publish)")
            try await old.run("begin; select pg_current_xact_id()")
            try await database.run(Self.publish)
            try await database.expect("select bulkhead.remove_changes()", "1")
            try await database.expect("select bulkhead.remove_changes()", "0")
            var reader = try await FeedReader(try await database.session())
            try await old.run("\(Self.publish); commit")
            try await reader.readAll()
            #expect(reader.seen == [3])
            try await database.expect("select bulkhead.remove_changes()", "2")
            try await reader.readAll()
            #expect(reader.seen == [3])
        }
    }

    @Test func aDaemonDoesItAndAReaderThatWasAwayIsTold() async throws {
        try await withOwnServer { _, database in
            let name = "d"
            try await database.run(
                """
                create role \(name) login; select bulkhead.grant_daemon('\(name)');
                update bulkhead.feed set keep = '0'
                """
            )
            let token = try await database.value("select bulkhead.current_token()")
            try await database.run(
                """
                insert into bulkhead.change (relation, operation, ids)
                select 'public.t', 'update', '[1]' from generate_series(1, 2500)
                """
            )
            let role = try database.at(database.url.replacing("postgres@", with: "\(name)@"))
            let daemon = try await TestDaemon.start(role, []) { $0.lease = .milliseconds(300) }
            try await database.waitUntil("select count(*) = 0 from bulkhead.change")
            try await daemon.stop()
            let error = await #expect(throws: PostgresError.self) {
                try await database.rows("select * from bulkhead.changes_since(\(token))")
            }
            #expect(error?.state?.rawValue == "BH001")
            try await database.run("drop owned by \(name); drop role \(name)")
        }
    }
}
