import BulkheadTesting
import Testing

@testable import Postgres

@Suite struct SQLTests {
    @Test func interpolatedValuesBecomeParameters() {
        let name = "x'y"
        let sql: SQL = "select \(name), \(1), \(nil as Int?)"
        #expect(sql.text == "select $1, $2, $3")
        #expect(sql.values == ["x'y", "1", nil])
    }

    @Test func partsKeepTheirParametersInOrder() {
        let inner: SQL = "b = \(2) and c = \(3)"
        let middle: SQL = "(\(inner) or \(inner))"
        let sql: SQL = "where a = \(1) and \(middle) and d = \(4)"
        #expect(
            sql.text == "where a = $1 and (b = $2 and c = $3 or b = $4 and c = $5) and d = $6"
        )
        #expect(sql.values == ["1", "2", "3", "2", "3", "4"])
    }

    @Test func aPartWithoutParametersIsText() {
        let order: SQL = "order by \(identifier: "odd \"name\"")"
        let sql: SQL = "select \(7) \(order) limit \(8)"
        #expect(sql.text == "select $1 order by \"odd \"\"name\"\"\" limit $2")
    }

    @Test func aQuotedIdentifierNamesExactlyItself() async throws {
        let names = ["a", "A b", "\"", "\"\"\"", "select", "a.b", "š", "a\\b", "a'b", "$1", "?"]
        try await TestDatabase.with(hasSchema: false) { database in
            try await database.session().use { connection in
                for name in names {
                    try connection.query("create schema \(identifier: name)")
                    try connection.query(
                        "create table \(unsafe: quoted(name, name)) (\(identifier: name) text)"
                    )
                    let row = try connection.query(
                        """
                        select table_schema, table_name, column_name from information_schema.columns
                        where table_name = \(name)
                        """
                    )
                    #expect(row.count == 1)
                    for column in 0..<3 { #expect(try row.value(0, column) == name) }
                }
            }
        }
    }
}
