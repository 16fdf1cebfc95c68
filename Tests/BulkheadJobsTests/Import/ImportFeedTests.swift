import Bulkhead
import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

/// The feed names the rows that are in the table, by their keys as the server prints them.
@Suite struct ImportFeedTests {
    static let keys = [
        ("int8", "1,2", ["\"1\"", "\"2\""]), ("int4", "1,2", ["1", "2"]),
        ("int2", "-1,0", ["-1", "0"]),
        ("int4", "007,+5", ["5", "7"]), ("int4", " 8,-0", ["0", "8"]),
        ("int8", "007,+5", ["\"5\"", "\"7\""]),
        (
            "uuid", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11,{b0eebc999c0b4ef8bb6d6bb9bd380a11}",
            [
                "\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\"",
                "\"b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\"",
            ]
        ),
        ("text", "007,a b", ["\"007\"", "\"a b\""]),
        ("varchar(3)", "abc,ab ", ["\"ab \"", "\"abc\""]),
        ("char(3)", "abc,ab", ["\"ab\"", "\"abc\""]),
        ("numeric(5,2)", "1,2.345", ["\"1.00\"", "\"2.35\""]),
        ("date", "2025-1-2,20250304", ["\"2025-01-02\"", "\"2025-03-04\""]),
        (
            "timestamptz", "2025-01-02 03:04+02,infinity",
            ["\"2025-01-02 01:04:00+00\"", "\"infinity\""]
        ),
        ("bool", "yes,0", ["\"false\"", "\"true\""]), ("public.text", "1,02", ["\"1\"", "\"2\""]),
    ]

    @Test func keysAreThoseThatAreStored() async throws {
        let setup = "create schema hc; create domain public.text as int;"
        try await ImportBench.with(setup) { bench in
            var jobs: [Int64] = []
            for (number, (type, values, _)) in Self.keys.enumerated() {
                let text = "k\n" + values.split(separator: ",").joined(separator: "\n") + "\n"
                for policy in ["error", "skip"] {
                    try await bench.database.run(
                        "create table hc.\(policy)\(number) (k \(type) primary key)"
                    )
                    jobs.append(
                        try await bench.enqueue(
                            "hc.\(policy)\(number)",
                            text: text,
                            "on_conflict => '\(policy)'"
                        )
                    )
                }
            }
            try await bench.drain()
            for (number, (type, _, ids)) in Self.keys.enumerated() {
                for id in jobs[number * 2...number * 2 + 1] {
                    let job = try await bench.outcome(of: id)
                    #expect(job.state == "completed", "\(type): \(job.error ?? "")")
                    #expect(try job.ids == ids, "\(type)")
                }
            }
        }
    }

    @Test func aCompositeKeyStandsInItsOwnOrder() async throws {
        let setup = """
            create schema hc;
            create table hc.t (name text, b int, a bigint, primary key (a, b));
            """
        try await ImportBench.with(setup) { bench in
            for policy in ["error", "skip"] {
                let job = try await bench.load(
                    "hc.t",
                    "b,name,a\n1,x,9007199254740993\n",
                    "on_conflict => '\(policy)'"
                )
                #expect(job.changes == ["[[\"9007199254740993\", 1]]"], "\(job.error ?? "")")
                try await bench.database.run("truncate hc.t")
            }
        }
    }

    @Test func aSmallBatchRingsWithItsIdsAndALargeOneSaysThatThereIsMore() async throws {
        try await ImportBench.with("create schema hc; create table hc.t (id int primary key);") {
            bench in
            let listener = try await bench.database.session()
            try await listener.run("listen bulkhead_change")
            _ = try await bench.load("hc.t", "id\n1\n2\n3\n")
            let small = try await payloads(listener)
            #expect(small.map(\.ids) == [[1, 2, 3]])
            #expect(small.map(\.relation) == ["hc.t"])
            #expect(small.map(\.operation) == ["insert"])
            #expect(small.map(\.more) == [nil])
            let rows = (10...40_000).map { "\($0)\n" }.joined()
            let job = try await bench.load("hc.t", "id\n" + rows, "batch => 40000")
            let large = try await payloads(listener)
            #expect(large.contains { $0.more == true && $0.ids == nil })
            #expect(try job.ids.count == 39_991)
            let longest = try await bench.value(
                "select max(jsonb_array_length(ids)) from bulkhead.change where job = \(job.id)"
            )
            #expect(longest == "10000")
        }
    }

    private struct Payload: Decodable {
        let relation: String
        let operation: String
        let ids: [Int]?
        let job: Int64
        let more: Bool?
    }

    private func payloads(_ listener: TestSession) async throws -> [Payload] {
        try await listener.notifications().map { try JSONText($0.payload).decode() }
    }

    @Test func aBatchThatFailsAddsNothingToTheFeed() async throws {
        try await ImportBench.with("create schema hc; create table hc.t (id int primary key);") {
            bench in
            let job = try await bench.load("hc.t", "id\n1\n2\n3\nx\n", "batch => 2")
            #expect(job.state == "discarded")
            #expect(job.changes == ["[1, 2]"])
        }
    }

    @Test(arguments: ["error", "skip", "update"])
    func aTrackedTableRecordsEachRowOnce(policy: String) async throws {
        let setup = """
            create schema hc;
            create table hc.t (id int primary key, v int);
            insert into hc.t values (9, 9);
            select bulkhead.track('hc.t');
            """
        try await ImportBench.with(setup) { bench in
            let job = try await bench.load(
                "hc.t",
                "id,v\n1,1\n2,2\n3,3\n",
                "on_conflict => '\(policy)', batch => 2"
            )
            #expect(job.totals == ImportTotals(read: 3, inserted: 3), "\(job.error ?? "")")
            #expect(try job.ids == ["1", "2", "3"])
            let again = try await bench.load("hc.t", "id,v\n9,8\n3,3\n", "on_conflict => 'update'")
            #expect(again.totals == ImportTotals(read: 2, updated: 1, unchanged: 1))
            #expect(try again.ids == ["9"])
        }
    }
}
