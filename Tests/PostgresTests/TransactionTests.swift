import BulkheadTesting
import Testing

@testable import Postgres

@Suite struct TransactionTests {
    private struct Oops: Error {}

    @Test func aClosureThatReturnsIsCommittedAndOneThatThrowsIsNot() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let session = try await database.session()
            try await session.run("create table t (n int)")
            try await session.use { connection in
                try connection.transaction { _ = try $0.query("insert into t values (1)").count }
                #expect(throws: Oops.self) {
                    try connection.transaction {
                        try $0.query("insert into t values (2)")
                        throw Oops()
                    }
                }
                #expect(!connection.isInTransaction)
            }
            #expect(try await database.rows("select n from t") == [["1"]])
        }
    }

    @Test func aFailureThatTheClosureHidesIsNotTakenForACommit() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let session = try await database.session()
            try await session.run("create table t (n int)")
            let error = await #expect(throws: PostgresError.self) {
                try await session.use { connection in
                    try connection.transaction { connection in
                        try connection.query("insert into t values (1)")
                        #expect(throws: PostgresError.self) {
                            try connection.query("select 1 / 0").count
                        }
                    }
                }
            }
            #expect(error?.state == .failedTransaction)
            #expect(try await session.value("select count(*) from t") == "0")
        }
    }

    @Test func aDeferredConstraintFailsTheTransactionAtItsEnd() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let session = try await database.session()
            try await session.run("create table t (n int unique deferrable initially deferred)")
            let error = await #expect(throws: PostgresError.self) {
                try await session.use { connection in
                    try connection.transaction {
                        _ = try $0.query("insert into t values (1), (1)").count
                    }
                }
            }
            #expect(error?.kind == .conflict)
            #expect(try await session.value("select count(*) from t") == "0")
        }
    }
}
