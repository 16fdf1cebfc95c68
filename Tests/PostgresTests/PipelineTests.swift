import BulkheadTesting
import Testing

@testable import Postgres

@Suite struct PipelineTests {
    @Test func aPipelineReturnsTheLastRows() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            try await database.session().use { connection in
                let rows = try connection.pipeline([
                    "create table t (n int)", "insert into t values (\(1)), (\(2))",
                    "select n from t order by n",
                ])
                #expect(rows.count == 2)
                #expect(try rows.value(1, 0) == 2)
            }
        }
    }

    @Test(arguments: 0..<4)
    func theFirstFailureEndsThePipelineAndLeavesTheSession(_ place: Int) async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            try await database.session().use { connection in
                try connection.query("create table t (n int)")
                var statements: [SQL] = (0..<4).map { "insert into t values (\($0))" }
                statements[place] = "select 1 / \(0)::int"
                let error = #expect(throws: PostgresError.self) {
                    try connection.pipeline(["begin"] + statements + ["commit"]).count
                }
                #expect(error?.state?.rawValue == "22012")
                #expect(connection.isInTransaction)
                try connection.rollback()
                #expect(try connection.query("select count(*) from t").value(0, 0) == 0)
                #expect(try connection.pipeline(["select 1", "select 7"]).value(0, 0) == 7)
            }
        }
    }

    @Test func statementsAfterAFailureAreNotRun() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            try await database.session().use { connection in
                try connection.query("create sequence s")
                #expect(throws: PostgresError.self) {
                    try connection.pipeline(["select 1 / 0", "select nextval('s')"]).count
                }
                #expect(try connection.query("select is_called from s").value(0, 0) == false)
            }
        }
    }

    @Test func bigStatementsAndAnswersDoNotBlockEachOther() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            try await database.session().use { connection in
                let big = String(repeating: "x", count: 4 << 20)
                let rows = try connection.pipeline(Array(repeating: "select \(big)", count: 8))
                #expect(try rows.required(0, 0, as: String.self).utf8.count == big.utf8.count)
            }
        }
    }

    @Test func aCopyInAPipelineIsRefusedAndDoesNotHang() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            try await database.session().use { connection in
                let error = #expect(throws: PostgresError.self) {
                    try connection.pipeline(["select 1", "copy (select 1) to stdout"]).count
                }
                #expect(error != nil)
            }
        }
    }

    @Test func anEmptyPipelineAndAnEmptyStatementAreNoErrors() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            try await database.session().use { connection in
                #expect(try connection.pipeline([]).count == 0)
                #expect(try connection.pipeline(["select 1", ""]).count == 0)
                #expect(try connection.query("").count == 0)
                try connection.expectUsable()
            }
        }
    }
}
