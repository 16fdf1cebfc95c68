import BulkheadTesting
import Testing

@testable import Postgres

@Suite struct CopyTests {
    private struct Oops: Error {}

    @Test func whatGoesInComesOut() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            try await database.session().use { connection in
                try connection.query("create table t (n int, s text)")
                let taken = try connection.copyIn("copy t from stdin") { writer in
                    // A row may be split anywhere.
                    try writer.write(Array("1\ton".utf8))
                    try writer.write([])
                    try writer.write(Array("e\n2\tt\\two\n3\t\\N\n".utf8))
                }
                #expect(taken == 3)
                var out = ""
                try connection.copyOut("copy t to stdout") {
                    out += String(decoding: $0, as: UTF8.self)
                }
                #expect(out == "1\tone\n2\tt\\two\n3\t\\N\n")
            }
        }
    }

    @Test func aBigVolumeGoesInAndOut() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            try await database.session().use { connection in
                try connection.query("create table t (s text)")
                let line = Array((String(repeating: "x", count: 999) + "\n").utf8)
                let block = Array(repeating: line, count: 1000).flatMap { $0 }
                let taken = try connection.copyIn("copy t from stdin") { writer in
                    for _ in 0..<20 { try writer.write(block) }
                }
                #expect(taken == 20_000)
                var (rows, bytes) = (0, 0)
                try connection.copyOut("copy t to stdout") { row in
                    rows += 1
                    bytes += row.count
                }
                #expect(rows == 20_000)
                #expect(bytes == 20_000_000)
            }
        }
    }

    @Test func aRefusalMidWayIsToldAndLeavesTheSession() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            try await database.session().use { connection in
                try connection.query("create table t (n int)")
                let error = #expect(throws: PostgresError.self) {
                    try connection.copyIn("copy t from stdin") { writer in
                        for n in 0..<200_000 {
                            try writer.write(Array((n == 100 ? "x\n" : "\(n)\n").utf8))
                        }
                    }
                }
                #expect(error?.state == .invalidTextRepresentation)
                #expect(error?.context?.contains("line 101") == true)
                #expect(try connection.query("select count(*) from t").value(0, 0) == 0)
            }
        }
    }

    @Test func aClosureThatThrowsEndsTheCopyWithoutEffect() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            try await database.session().use { connection in
                try connection.query("create table t (n int)")
                #expect(throws: Oops.self) {
                    try connection.copyIn("copy t from stdin") { writer in
                        try writer.write(Array("1\n".utf8))
                        throw Oops()
                    }
                }
                var rows = 0
                #expect(throws: Oops.self) {
                    try connection.copyOut("copy (select generate_series(1, 100000)) to stdout") {
                        _ in
                        rows += 1
                        if rows == 10 { throw Oops() }
                    }
                }
                #expect(rows == 10)
                #expect(try connection.query("select count(*) from t").value(0, 0) == 0)
            }
        }
    }

    @Test func anErrorOfTheServerWhileItSendsIsTold() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            try await database.session().use { connection in
                var rows = 0
                let error = #expect(throws: PostgresError.self) {
                    try connection.copyOut(
                        "copy (select 1 / (5000 - n) from generate_series(1, 9999) n) to stdout"
                    ) { _ in rows += 1 }
                }
                #expect(error?.state?.rawValue == "22012")
                #expect(rows == 4999)
                try connection.expectUsable()
            }
        }
    }

    @Test func aCopyInTheWrongPlaceIsRefusedAndLeavesTheSession() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            try await database.session().use { connection in
                try connection.query("create table t (n int)")
                for misuse in [
                    { try connection.query("copy t from stdin").count },
                    { try connection.query("copy (select 1) to stdout").count },
                    { try connection.run(script: "select 1; copy t from stdin; select 2").count },
                    { try connection.copyIn("select 1") { _ in } },
                    { try connection.copyIn("copy t to stdout") { _ in } },
                    { try connection.copyIn("copy t from stdin where n > \(1)") { _ in } },
                    {
                        try connection.copyOut("copy t from stdin") { _ in }
                        return 0
                    },
                    {
                        try connection.copyOut("select 1") { _ in }
                        return 0
                    },
                ] {
                    let error = #expect(throws: PostgresError.self) { _ = try misuse() }
                    #expect(error?.kind == .permanent)
                    #expect(!connection.isLost)
                    try connection.expectUsable()
                }
            }
        }
    }
}
