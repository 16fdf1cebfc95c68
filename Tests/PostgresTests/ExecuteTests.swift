import BulkheadTesting
import Foundation
import Postgres
import Testing

@Suite struct ExecuteTests {
    private static var residentKilobytes: Int {
        get throws {
            let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM") }
            return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
        }
    }

    @Test func rowsAreCountedAndNotKept() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let session = try await database.session()
            let before = try Self.residentKilobytes
            // 1.2 GB, were they kept.
            let rows = try await session.use {
                try $0.execute("select repeat('x', 1000) from generate_series(1, 1200000)")
            }
            #expect(rows == 1_200_000)
            #expect(try Self.residentKilobytes - before < 800_000)
        }
    }

    @Test func theSessionIsOfUseAfterEachEnd() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let session = try await database.session()
            for (statement, state) in [
                ("select 1 / n from generate_series(1, 0, -1) n", "22012"), ("selekt", "42601"),
                ("select 1; select 2", "42601"),
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await session.use { try $0.execute(SQL(unsafe: statement)) }
                }
                #expect(error?.state?.rawValue == state)
            }
            await #expect(throws: PostgresError.self) {
                try await session.use { try $0.execute("copy (select 1) to stdout") }
            }
            try await session.run("create table t (n int)")
            let count = try await session.use {
                try $0.execute("insert into t select * from generate_series(1, \(7))")
            }
            #expect(count == 7)
            #expect(try await session.value("select count(*) from t") == "7")
        }
    }
}
