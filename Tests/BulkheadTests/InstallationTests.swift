import Bulkhead
import BulkheadTesting
import Migrations
import Postgres
import Testing

@Suite struct InstallationTests {
    private func install(_ database: TestDatabase) async throws -> [Int] {
        let connection = try Connection(
            database.address,
            settings: SessionSettings(applicationName: "setup")
        )
        return try await Installation(connection).install(pause: { _ in await Task.yield() })
            .map(\.number)
    }

    private func requirement(_ database: TestDatabase) throws -> InstallationError? {
        let connection = try Connection(
            database.address,
            settings: SessionSettings(applicationName: "setup")
        )
        do {
            try Installation(connection).requireCurrent()
            return nil
        } catch let error as InstallationError {
            return error
        }
    }

    @Test func installingTwiceDoesNothingTheSecondTime() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            #expect(try requirement(database) == .missing)
            #expect(try await install(database) == Schema.versions.map(\.number))
            #expect(try await install(database).isEmpty)
            #expect(try requirement(database) == nil)
            try await database.expect(
                "select count(*) from bulkhead.schema_version",
                "\(Schema.versions.count)"
            )
        }
    }

    @Test func tenWhoInstallAtOnceAllSucceed() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let installed = try await withThrowingTaskGroup(of: [Int].self) { group in
                for _ in 0..<10 {
                    let thread = ExecutorThread(name: "setup")
                    group.addTask(executorPreference: thread) {
                        defer { thread.stop() }
                        return try await install(database)
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            // Each version was installed by exactly one of them.
            #expect(installed.sorted() == Schema.versions.map(\.number))
            #expect(try requirement(database) == nil)
        }
    }

    @Test func aNewerDatabaseIsRefusedAndLeftAlone() async throws {
        try await TestDatabase.with { database in
            let newer = Schema.versions.count + 1
            try await database.run(
                "insert into bulkhead.schema_version (version, name) values (\(newer), 'later')"
            )
            #expect(try requirement(database) == .newer(newer))
            await #expect(throws: InstallationError.newer(newer)) { try await install(database) }
            await #expect(throws: InstallationError.newer(newer)) {
                _ = try await TestDaemon.start(database, [])
            }
            #expect(InstallationError.newer(newer).description.contains("newer bulkhead"))
        }
    }

    @Test func anOlderDatabaseAsksForSetup() async throws {
        try await TestDatabase.with { database in
            try await database.run("delete from bulkhead.schema_version where version > 1")
            #expect(try requirement(database) == .older(1))
            #expect(InstallationError.older(1).description.contains("bulkhead setup"))
            await #expect(throws: InstallationError.older(1)) {
                _ = try await TestDaemon.start(database, [])
            }
        }
    }

    @Test func aVersionThatFailsLeavesNothingOfItself() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            // A type in the way of the second version's function would be odd; a table is in the first's.
            try await database.run("create schema bulkhead; create table bulkhead.reject (n int)")
            let error = await #expect(throws: PostgresError.self) { try await install(database) }
            #expect(error?.kind == .permanent)
            #expect(try await database.value("select to_regclass('bulkhead.job')") == nil)
        }
    }

    @Test func removingLeavesNothing() async throws {
        try await TestDatabase.with { database in
            let connection = try Connection(
                database.address,
                settings: SessionSettings(applicationName: "setup")
            )
            try Installation(connection).remove()
            #expect(try requirement(database) == .missing)
            #expect(try await install(database).count == Schema.versions.count)
        }
    }
}
