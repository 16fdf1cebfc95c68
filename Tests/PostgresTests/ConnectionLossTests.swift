import BulkheadTesting
import Testing

@testable import Postgres

@Suite struct ConnectionLossTests {
    /// The ways in which a session can meet the end of its connection.
    enum Use: String, CaseIterable, Sendable {
        case query, run, pipeline, copyIn, copyOut, transaction, notifications

        func call(_ connection: Connection, meanwhile: () throws -> Void) throws {
            switch self {
            case .query:
                try meanwhile()
                try connection.query("select \(1)")
            case .run:
                try meanwhile()
                try connection.run(script: "select 1; select 2")
            case .pipeline:
                try meanwhile()
                try connection.pipeline(["begin", "select \(1)", "commit"])
            case .copyIn:
                try connection.copyIn("copy t from stdin") { writer in
                    try writer.write(Array("1\n".utf8))
                    try meanwhile()
                    let rows = Array(String(repeating: "2\n", count: 100_000).utf8)
                    for _ in 0..<20 { try writer.write(rows) }
                }
            case .copyOut:
                var isFirst = true
                try connection.copyOut("copy (select generate_series(1, 3000000)) to stdout") { _ in
                    if isFirst { try meanwhile() }
                    isFirst = false
                }
            case .transaction:
                try connection.transaction { connection in
                    try connection.query("insert into t values (1)")
                    try meanwhile()
                }
            case .notifications:
                try meanwhile()
                // The end may take a moment to arrive; asking is what notices it.
                while true { _ = try connection.notifications() }
            }
        }
    }

    @Test(arguments: Use.allCases)
    func aServerProcessThatIsEndedIsALostConnection(_ use: Use) async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let (session, other) = (try await database.session(), try Other(database))
            try await session.run("create table t (n int)")
            try await session.use { connection in
                let pid: Int = try connection.query("select pg_backend_pid()").required(0, 0)
                let error = #expect(throws: PostgresError.self) {
                    try use.call(connection) { try other.end(pid) }
                }
                #expect(error?.kind == .connectionLost)
                #expect(connection.isLost)
                let next = #expect(throws: PostgresError.self) {
                    try connection.query("select 1").count
                }
                #expect(next?.kind == .connectionLost)
            }
            #expect(try await database.value("select count(*) from t") == "0")
        }
    }

    @Test(arguments: Use.allCases)
    func aNetworkThatBreaksIsALostConnection(_ use: Use) async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            try await database.run("create table t (n int)")
            let proxy = try TestProxy(to: database)
            defer { proxy.close() }
            try await database.at(proxy.url(database)).session().use { connection in
                let error = #expect(throws: PostgresError.self) {
                    try use.call(connection) { proxy.cut() }
                }
                #expect(error?.kind == .connectionLost)
                #expect(connection.isLost)
            }
        }
    }

    /// A second session for use in the middle of the first one's work.
    private struct Other: @unchecked Sendable {
        // Safe: one thread at a time uses it, the session's that is being tried.
        let connection: Connection

        init(_ database: TestDatabase) throws {
            connection = try Connection(
                database.address,
                settings: SessionSettings(applicationName: "other")
            )
        }

        func end(_ pid: Int) throws {
            try connection.query("select pg_terminate_backend(\(pid)::int, 10000)")
        }
    }
}
