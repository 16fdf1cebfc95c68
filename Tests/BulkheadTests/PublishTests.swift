import BulkheadTesting
import Foundation
import Postgres
import Testing

@Suite struct PublishTests {
    /// What rings when these ids were published in one transaction.
    private func rings(
        for lists: [String?],
        _ database: TestDatabase
    ) async throws -> [(ids: [Any]?, more: Bool, bytes: Int)] {
        let (listener, writer) = (try await database.session(), try await database.session())
        try await listener.use { try $0.listen("bulkhead_change") }
        try await writer.run("begin")
        for list in lists {
            _ = try await writer.rows("select bulkhead.publish('s.t', 'update', \(list)::jsonb, 7)")
        }
        try await writer.run("select bulkhead.ring_changes(); notify bulkhead_change, '{}'; commit")
        var payloads: [String] = []
        while payloads.last != "{}" {
            payloads += try await listener.notifications().map(\.payload)
        }
        return try payloads.dropLast().map { payload in
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(payload.utf8)) as? [String: Any]
            )
            #expect(object["relation"] as? String == "s.t")
            #expect(object["operation"] as? String == "update")
            #expect(object["job"] as? Int == 7)
            return (object["ids"] as? [Any], object["more"] as? Bool == true, payload.utf8.count)
        }
    }

    @Test func aFewIdsTravelInOneRing() async throws {
        try await TestDatabase.with { database in
            let rings = try await rings(for: ["[1, 2]", "[\"x\"]", "[[1, \"y\"]]"], database)
            #expect(rings.count == 1)
            #expect(rings.first?.ids?.count == 4)
            try await database.expect("select count(*) from bulkhead.change", "3")
        }
    }

    @Test func manyIdsTravelInAtMostEightRingsAllOfThemOnce() async throws {
        try await TestDatabase.with { database in
            let ids = (1...4000).map(String.init).joined(separator: ",")
            let rings = try await rings(for: ["[\(ids)]"], database)
            #expect((2...8).contains(rings.count))
            #expect(rings.allSatisfy { $0.bytes < 8000 })
            let sent = rings.flatMap { $0.ids ?? [] }.compactMap { $0 as? Int }
            #expect(sent == Array(1...4000))
        }
    }

    @Test(arguments: [
        // Too many, one too long, one that grows as it is escaped, and none at all.
        "[\((1...5000).map { "\"key-\($0)-000000\"" }.joined(separator: ","))]",
        "[1, \"\(String(repeating: "x", count: 9000))\"]",
        "[\"\(String(repeating: "\\u0001", count: 1400))\"]", nil,
    ])
    func whatDoesNotFitRingsOnceAndStandsInTheTable(_ list: String?) async throws {
        try await TestDatabase.with { database in
            let rings = try await rings(for: [list], database)
            #expect(rings.count == 1)
            #expect(rings.first?.more == true)
            #expect(rings.first?.ids == nil)
            let stored = try await database.value(
                "select ids is not distinct from \(list)::jsonb from bulkhead.change"
            )
            #expect(stored == "t")
        }
    }

    @Test func longListsAreStoredInPiecesOfTenThousand() async throws {
        try await TestDatabase.with { database in
            let ids = (1...25_000).map(String.init).joined(separator: ",")
            let rings = try await rings(for: ["[\(ids)]", "[]"], database)
            #expect(rings.count == 1)
            #expect(
                try await database.rows(
                    "select jsonb_array_length(ids), ids ->> 0, ids ->> -1 from bulkhead.change order by id"
                ) == [
                    ["10000", "1", "10000"], ["10000", "10001", "20000"],
                    ["5000", "20001", "25000"],
                ]
            )
        }
    }
}
