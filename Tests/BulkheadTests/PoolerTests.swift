import Bulkhead
import BulkheadTesting
import Postgres
import Testing

@Suite(.enabled(if: TestPooler.isInstalled, "pgbouncer is not installed"))
struct PoolerTests {
    /// Runs a test behind a pooler.
    private func withPooler(
        _ mode: String,
        size: Int,
        _ body: (TestDatabase, _ pooled: TestDatabase) async throws -> Void
    ) async throws {
        try await TestDatabase.with { database in
            let pooler = try await TestPooler(to: database, mode: mode, size: size)
            defer { pooler.close() }
            try await body(database, database.at(pooler.url(database)))
        }
    }

    @Test func localSessionsEnqueueAndLeaveNoSettingsToOthers() async throws {
        try await withPooler("transaction", size: 1) { database, pooled in
            let settings = SessionSettings(applicationName: "mine", isLocal: true)
            let mine = try Connection(pooled.address, settings: settings)
            let other = try Connection(pooled.address, settings: settings)
            func seen() throws -> [String] {
                let row = try other.query(
                    "select current_setting('DateStyle'), current_setting('statement_timeout'), pg_backend_pid()"
                )
                return try (0..<3).map { try row.required(0, $0) }
            }
            try other.run(script: "set DateStyle = 'SQL, DMY'; set statement_timeout = '50s'")
            let before = try seen()
            for _ in 0..<5 {
                try mine.transaction { connection in
                    let style: String = try connection.query("show DateStyle").required(0, 0)
                    #expect(style == "ISO, YMD")
                    _ = try connection.query("select bulkhead.enqueue('k')").count
                }
                // The same server process: what the other one set is as it was.
                let after = try seen()
                #expect(after == before)
            }
            try await database.expect("select count(*) from bulkhead.job", "5")
        }
    }

    @Test func aDaemonRefusesAPoolerInTransactionModeAndSaysWhy() async throws {
        try await withPooler("transaction", size: 5) { database, pooled in
            let error = await #expect(throws: JobFailure.self) {
                _ = try await TestDaemon.start(pooled, [])
            }
            #expect(error?.message.contains("transaction mode") == true)
            #expect(error?.message.contains("session mode") == true)
            try await database.expect("select count(*) from bulkhead.daemon", "0")
        }
    }

    @Test func aDaemonWorksThroughAPoolerInSessionMode() async throws {
        try await withPooler("session", size: 30) { database, pooled in
            try await database.run(Effects.setUp + "; select bulkhead.enqueue('effects')")
            let daemon = try await TestDaemon.start(pooled, [Effects.handler(5)]) {
                $0.drains = true
            }
            try await daemon.wait()
            try await database.expect(Effects.areExactlyOnce(5), "t")
        }
    }
}
