import Bulkhead
import BulkheadTesting
import Foundation
import Postgres
import Testing

/// Inputs that broke comparable products.
@Suite struct CaseTests {
    private func text(_ name: String) throws -> String {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        return try String(
            contentsOf: folder.appendingPathComponent("Cases/\(name)"),
            encoding: .utf8
        )
    }

    @Test(arguments: ["payload-bad", "nested-bad"])
    func anEscapedNULIsRefusedAndASavepointSavesTheTransaction(_ name: String) async throws {
        let args = try text("FC-001-null-escape-payload/\(name).json")
        try await TestDatabase.with { database in
            let session = try await database.session()
            try await session.run("begin; create table mine (n int); savepoint s")
            let error = await #expect(throws: PostgresError.self) {
                try await session.value("select bulkhead.enqueue('k', \(args)::jsonb)")
            }
            #expect(error?.kind == .badData)
            try await session.run("rollback to s; commit")
            #expect(try await session.value("select count(*) from bulkhead.job") == "0")
            #expect(try await session.value("select count(*) from mine") == "0")
        }
    }

    @Test func backslashesReachTheHandlerUnchanged() async throws {
        let args = try text("FC-001-null-escape-payload/payload-ok.json")
        try await TestDatabase.with { database in
            let seen = TestSignal(of: String.self)
            _ = try await database.rows("select bulkhead.enqueue('k', \(args)::jsonb)")
            let daemon = try await TestDaemon.start(
                database,
                [
                    TestHandler("k") { context in
                        struct Args: Decodable { let note: String }
                        seen.send(try context.job.args.decode(Args.self).note)
                    }
                ]
            )
            #expect(try await seen.next() == "the six characters \\u0000 written as text")
            try await daemon.stop()
        }
    }

    @Test func anErrorTextOfAnyKindEndsTheAttempt() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                "select bulkhead.enqueue('nul'), bulkhead.enqueue('long'), bulkhead.enqueue('bytes')"
            )
            let daemon = try await TestDaemon.start(
                database,
                [
                    TestHandler("nul") { _ in
                        throw JobFailure("a\0b", detail: "c\0", sqlstate: "\0", position: "d\0e")
                    },
                    TestHandler("long") { _ in
                        throw JobFailure(String(repeating: "😀", count: 1_000_000))
                    },
                    TestHandler("bytes") { _ in
                        throw JobFailure(String(decoding: [0x61, 0xff, 0xc0, 0x62], as: UTF8.self))
                    },
                ]
            ) { $0.drains = true }
            try await daemon.wait()
            #expect(
                try await database.rows(
                    """
                    select e.message, e.detail, e.position from bulkhead.job_error e
                    join bulkhead.job j on j.id = e.job and j.state = 'discarded'
                    where kind <> 'long' order by j.id
                    """
                ) == [
                    ["a\u{FFFD}b", "c\u{FFFD}", "d\u{FFFD}e"], ["a\u{FFFD}\u{FFFD}b", nil, nil],
                ]
            )
            try await database.expect(
                "select length(last_error) from bulkhead.job_status where kind = 'long'",
                "8000"
            )
        }
    }

    @Test func numbersKeepTheirDigitsOnEveryHop() async throws {
        let args = try text("FC-003-payload-numbers/payload.json")
        try await TestDatabase.with { database in
            try await database.run("create table seen (payload jsonb)")
            _ = try await database.rows("select bulkhead.enqueue('k', \(args)::jsonb)")
            let daemon = try await TestDaemon.start(
                database,
                [
                    TestHandler.returning("k") { context in
                        let checkpoint = context.progress.checkpoint
                        try await context.batch { batch in
                            try batch.connection.query(
                                "insert into seen values (\(checkpoint ?? context.job.args)::jsonb)"
                            )
                            return Progress(checkpoint: context.job.args, result: context.job.args)
                        }
                        if checkpoint == nil {
                            throw PostgresError(state: nil, message: "again", kind: .transient)
                        }
                        return context.job.args
                    }
                ]
            ) { $0.drains = true }
            try await daemon.wait()
            try await database.expect("select count(*) from seen", "2")
            let digits = try await database.rows(
                """
                select distinct payload ->> 'id', payload ->> 'big', payload ->> 'price', payload ->> 'small',
                    payload ->> 'max_u64', payload ->> 'neg'
                from (select payload from seen union all select args from bulkhead.job
                    union all select checkpoint from bulkhead.job union all select result from bulkhead.job) as hops
                """
            )
            #expect(
                digits == [
                    [
                        "9007199254740993", "12345678901234567890123", "1.10",
                        "0.000000000000000000000000000001", "18446744073709551615",
                        "-9223372036854775808",
                    ]
                ]
            )
        }
    }

    @Test(arguments: ["payload-1400-control", "payload-2000-emoji", "payload-8100-ascii"])
    func aPayloadThatIsLongOnceEscapedStartsAtOnce(_ name: String) async throws {
        let args = try text("FC-004-notify-size/\(name).json")
        try await TestDatabase.with { database in
            let seen = TestSignal(of: Int.self)
            let daemon = try await TestDaemon.start(
                database,
                [TestHandler("k") { seen.send($0.job.args.text.utf8.count) }]
            ) { $0.poll = .seconds(60) }
            _ = try await database.rows("select bulkhead.enqueue('k', \(args)::jsonb)")
            #expect(try await seen.next(within: .seconds(20)) > 8000)
            try await daemon.stop()
        }
    }
}
