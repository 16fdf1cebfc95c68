import Bulkhead
import BulkheadTesting
import Foundation
import Postgres
import Testing

@Suite struct EnqueueTests {
    /// Calls that are refused, and the argument that the message names.
    private static let wrong = [
        ("bulkhead.enqueue('')", "kind"), ("bulkhead.enqueue(null)", "kind"),
        ("bulkhead.enqueue(repeat('k', 129))", "kind"), ("bulkhead.enqueue('k', '[1]')", "args"),
        ("bulkhead.enqueue('k', 'null')", "args"), ("bulkhead.enqueue('k', null)", "args"),
        ("bulkhead.enqueue('k', '\"text\"')", "args"),
        ("bulkhead.enqueue('k', queue => '')", "queue"),
        ("bulkhead.enqueue('k', queue => null)", "queue"),
        ("bulkhead.enqueue('k', queue => repeat('q', 129))", "queue"),
        ("bulkhead.enqueue('k', priority => null)", "priority"),
        ("bulkhead.enqueue('k', max_attempts => 0)", "max_attempts"),
        ("bulkhead.enqueue('k', max_attempts => null)", "max_attempts"),
        ("bulkhead.enqueue('k', run_at => now(), run_in => '1 s')", "run_at or run_in"),
        ("bulkhead.enqueue('k', run_at => 'infinity')", "run_at"),
        ("bulkhead.enqueue('k', run_at => '-infinity')", "run_at"),
        ("bulkhead.enqueue('k', unique_key => repeat(md5('x'), 100))", "unique_key"),
        ("bulkhead.enqueue('k', host => '')", "host"),
    ]

    @Test func aWrongArgumentIsRefusedByName() async throws {
        try await TestDatabase.with { database in
            let session = try await database.session()
            for (call, name) in Self.wrong {
                let error = await #expect(throws: PostgresError.self) {
                    try await session.run("select \(call)")
                }
                #expect(error?.state?.rawValue == "22023", "\(call)")
                #expect(error?.message.contains(name) == true, "\(call)")
            }
            try await database.expect("select count(*) from bulkhead.job", "0")
        }
    }

    @Test func argumentsBecomeColumns() async throws {
        try await TestDatabase.with { database in
            let id = try await database.value(
                """
                select bulkhead.enqueue('k', '{"a": 1}', queue => 'q', priority => -5, max_attempts => 3,
                    unique_key => 'u', tags => '{x,y}', host => 'h')
                """
            )
            #expect(
                try await database.rows(
                    """
                    select id, kind, args, queue, priority, state, max_attempts, unique_key, tags, host, attempt,
                        enqueued_by from bulkhead.job
                    """
                ) == [
                    [
                        id, "k", "{\"a\": 1}", "q", "-5", "available", "3", "u", "{x,y}", "h", "0",
                        "postgres",
                    ]
                ]
            )
        }
    }

    @Test func aLaterJobIsScheduledAndAnEarlierOneIsNot() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                select bulkhead.enqueue('k', run_at => now() + interval '1 hour'),
                    bulkhead.enqueue('k', run_in => '1 hour'),
                    bulkhead.enqueue('k', run_at => now() - interval '1 hour'),
                    bulkhead.enqueue('k', run_in => '-1 hour'),
                    bulkhead.enqueue('k', run_in => '0')
                """
            )
            #expect(
                try await database.rows("select state from bulkhead.job order by id") == [
                    ["scheduled"], ["scheduled"], ["available"], ["available"], ["available"],
                ]
            )
        }
    }

    @Test func theLongestUniqueKeyAndKindFitIntoTheIndex() async throws {
        try await TestDatabase.with { database in
            // What does not compress, of four bytes a character.
            let key = String(
                String.UnicodeScalarView(
                    (0..<512).compactMap { _ in UnicodeScalar(UInt32.random(in: 0x20000...0x2A000))
                    }
                )
            )
            let kind = String(key.unicodeScalars.prefix(128))
            let id = try await database.value(
                "select bulkhead.enqueue(\(kind), unique_key => \(key))"
            )
            #expect(
                try await database.value("select bulkhead.enqueue(\(kind), unique_key => \(key))")
                    == id
            )
        }
    }

    @Test func aUniqueKeyNamesOneUnfinishedJobOfAKind() async throws {
        try await TestDatabase.with { database in
            let session = try await database.session()
            func enqueue(_ kind: String = "k") async throws -> String? {
                try await session.value("select bulkhead.enqueue(\(kind), unique_key => 'u')")
            }
            let first = try await enqueue()
            #expect(try await enqueue() == first)
            #expect(try await enqueue("other") != first)
            for state in ["scheduled", "retryable", "paused", "blocked"] {
                _ = try await session.rows(
                    "update bulkhead.job set state = \(state) where id = \(first)::bigint"
                )
                #expect(try await enqueue() == first)
            }
            for state in ["completed", "cancelled", "discarded"] {
                let before = try await enqueue()
                _ = try await session.rows(
                    "update bulkhead.job set state = \(state), finished_at = now() where id = \(before)::bigint"
                )
                #expect(try await enqueue() != before)
            }
        }
    }

    @Test func manyWhoEnqueueOneKeyAtOnceGetOneJob() async throws {
        try await TestDatabase.with { database in
            let ids = try await withThrowingTaskGroup(of: Set<String?>.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        let session = try await database.session()
                        var ids: Set<String?> = []
                        for _ in 0..<20 {
                            ids.insert(
                                try await session.value(
                                    "select bulkhead.enqueue('k', unique_key => 'u')"
                                )
                            )
                        }
                        return ids
                    }
                }
                return try await group.reduce(into: Set()) { $0.formUnion($1) }
            }
            #expect(ids.count == 1)
            try await database.expect("select count(*) from bulkhead.job", "1")
        }
    }

    @Test func anEnqueuerWaitsForAnotherOnesTransactionWithTheKey() async throws {
        try await TestDatabase.with { database in
            let (first, second) = (try await database.session(), try await database.session())
            try await first.run("begin")
            let rolledBack = try await first.value(
                "select bulkhead.enqueue('k', unique_key => 'u')"
            )
            let waiting = Task {
                try await second.value("select bulkhead.enqueue('k', unique_key => 'u')")
            }
            try await database.waitUntil(
                "select exists (select from pg_stat_activity where wait_event = 'transactionid' and datname = current_database())"
            )
            try await first.run("rollback")
            let id = try await waiting.value
            #expect(id != nil && id != rolledBack)
            #expect(try await database.rows("select id from bulkhead.job") == [[id]])
        }
    }

    @Test func aSavepointTakesTheJobAndItsRingBack() async throws {
        try await TestDatabase.with { database in
            let listener = try await database.session()
            try await listener.use { try $0.listen("bulkhead_job") }
            try await database.run(
                """
                begin;
                savepoint s;
                select bulkhead.enqueue('k', '{"n": 1}');
                rollback to s;
                select bulkhead.enqueue('k', '{"n": 2}');
                commit;
                """
            )
            let rings = try await listener.notifications()
            #expect(rings.count == 1)
            let id = try await database.rows("select id, args ->> 'n' from bulkhead.job")
            #expect(id.map { $0[1] } == ["2"])
            #expect(rings.first?.payload.contains("\"id\": \(id[0][0] ?? "")") == true)
        }
    }
}
