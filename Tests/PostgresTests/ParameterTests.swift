import BulkheadTesting
import Testing

@testable import Postgres

@Suite struct ParameterTests {
    static let texts = [
        "", " ", "'", "''", "\"", "\\", "\\\\n", "$1", "%s", "{}", "{\"a\",NULL}", "NULL", "null",
        "a,b", "line\nfeed\r\nand\ttab", "\u{1}\u{7f}", "žluťoučký", "😀👩‍👩‍👧", "e\u{301}",
        "\u{FEFF}bom", "\u{202E}right to left", "'; drop table x; --", "/* */ --", "\\x00",
        String(repeating: "long ", count: 50_000),
    ]

    @Test func aTextComesBackAsItWent() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let session = try await database.session()
            for text in Self.texts {
                let row = try await session.rows(
                    "select \(text), \([text, "", text])::text[] = array[$1, '', $1]"
                )
                #expect(row == [[text, "t"]])
            }
        }
    }

    @Test func arraysComeBackAsTheyWent() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let texts = Self.texts
            let rows = try await database.rows(
                "select value from unnest(\(texts)::text[]) with ordinality as t (value, n) order by n"
            )
            #expect(rows.map { $0[0] } == texts)
            #expect(try await database.value("select cardinality(\([String]())::text[])") == "0")
            #expect(try await database.value("select \([3, -1, 2])::bigint[]") == "{3,-1,2}")
        }
    }

    @Test func everyTypeComesBackAsItWent() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            try await database.session().use { connection in
                let bytes = Bytes(Array(0...255))
                let rows = try connection.query(
                    """
                    select \(Int.min)::int8, \(Int32.max)::int4, \(true)::bool, \(0.1)::float8,
                        \(bytes)::bytea, \(nil as String?)::text, \(Bytes([]))::bytea,
                        \(Double.infinity)::float8
                    """
                )
                #expect(try rows.value(0, 0) == Int.min)
                #expect(try rows.value(0, 1) == Int32.max)
                #expect(try rows.value(0, 2) == true)
                #expect(try rows.value(0, 3) == 0.1)
                #expect(try rows.value(0, 4) == bytes)
                #expect(try rows.value(0, 5, as: String.self) == nil)
                #expect(try rows.value(0, 6) == Bytes([]))
                #expect(try rows.value(0, 7) == Double.infinity)
            }
        }
    }

    @Test func aNULCharacterIsRefusedBeforeAnythingIsSent() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            try await database.session().use { connection in
                try connection.query("create table seen (value text)")
                let text = "before\0after"
                for refused in [
                    { try connection.query("insert into seen values (\(text))").count },
                    { try connection.query("insert into seen values (\([text])::text)").count },
                    {
                        try connection.pipeline(["insert into seen values (1)", "select \(text)"])
                            .count
                    },
                ] {
                    let error = #expect(throws: PostgresError.self) { _ = try refused() }
                    #expect(error?.kind == .badData)
                    #expect(error?.state == .characterNotInRepertoire)
                    #expect(error?.message.contains("parameter $1") == true)
                }
                for refused in [
                    { try connection.run(script: "insert into seen values (1)\0").count },
                    { try connection.query("select 1 as \(identifier: text)").count },
                    { try connection.copyIn("copy seen from stdin \(unsafe: "\0")") { _ in } },
                ] {
                    let error = #expect(throws: PostgresError.self) { _ = try refused() }
                    #expect(error?.kind == .permanent)
                }
                #expect(try connection.query("select count(*) from seen").value(0, 0) == 0)
            }
        }
    }

    @Test func tooManyParametersAreNoLostConnection() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            try await database.session().use { connection in
                var list: SQL = "\(0)"
                for _ in 0..<16 { list = "\(list), \(list)" }
                let statement: SQL = "select \(list)"
                for refused in [
                    { try connection.query(statement).count },
                    { try connection.pipeline(["select 1", statement, "select 2"]).count },
                ] {
                    let error = #expect(throws: PostgresError.self) { _ = try refused() }
                    #expect(error?.kind == .permanent)
                }
                try connection.expectUsable()
            }
        }
    }

    @Test func aValueOfAnotherTypeOrPlaceIsAnError() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            try await database.session().use { connection in
                let rows = try connection.query("select 'x' as letter, null as nothing")
                #expect(throws: PostgresError.self) { try rows.value(0, 0, as: Int.self) }
                #expect(throws: PostgresError.self) { try rows.required(0, 1, as: String.self) }
                #expect(throws: PostgresError.self) { try rows.value(1, 0, as: String.self) }
                #expect(throws: PostgresError.self) { try rows.value(0, 2, as: String.self) }
                #expect(throws: PostgresError.self) { try rows.value(-1, 0, as: String.self) }
                #expect(rows.columnName(0) == "letter")
                #expect(rows.columnName(7) == "")
            }
        }
    }
}
