import BulkheadTesting
import Foundation
import Postgres
import PostgresServer
import Testing

/// A job at which something dies again and again: the newest one in its database.
///
/// `BULKHEAD_KILL_ROWS` and `BULKHEAD_KILLS` make the runs longer.
struct UnderFire: Sendable {
    static let rows = setting("BULKHEAD_KILL_ROWS", 60_000)
    static let kills = setting("BULKHEAD_KILLS", 8)

    let database: TestDatabase
    let program: Program
    let folder: URL
    /// How far the job is, in what moments are told by.
    var reached: SQL = "rows_done"

    /// Runs the closure with a database and a directory for files; on a server of the test's own where one is
    /// given.
    static func with(
        on server: PostgresServer? = nil,
        _ body: (UnderFire) async throws -> Void
    ) async throws {
        if let server {
            try await with(TestDatabase.onServer(server.url()), body)
        } else {
            try await TestDatabase.with { database in try await with(database, body) }
        }
    }

    private static func with(
        _ database: TestDatabase,
        _ body: (UnderFire) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "bulkhead-\(UUID().uuidString)"
        )
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer {
            do {
                try FileManager.default.removeItem(at: folder)
            } catch {
                Issue.record(error)
            }
        }
        let program = Program(database: database, directory: folder)
        try await body(UnderFire(database: database, program: program, folder: folder))
    }

    /// Numbers of rows at which something dies, in order.
    static func randomMoments(_ count: Int = kills, below rows: Int) -> [Int] {
        (0..<count).map { _ in .random(in: 0..<rows) }.sorted()
    }

    func enqueue(_ arguments: String...) async throws {
        let enqueued = try await program.run(arguments)
        try #require(enqueued.status == 0, "\(enqueued.errors)")
    }

    func startDaemon(_ options: String...) throws -> Running {
        try program.start(
            ["worker", "--import-root", folder.path(), "--log-level", "debug"] + options
        )
    }

    // MARK: What dies

    /// Kills the daemon at each moment and starts another one.
    func killDaemons(at moments: [Int]) async throws -> Running {
        var daemon = try startDaemon()
        for moment in moments {
            try await waitUntil(rows: moment)
            daemon.send(SIGKILL)
            _ = await daemon.end()
            daemon = try startDaemon()
        }
        return daemon
    }

    func terminateWorkers(at moments: [Int]) async throws {
        for moment in moments {
            try await waitUntil(rows: moment)
            _ = try await database.rows(
                """
                select pg_terminate_backend(pid) from pg_stat_activity
                where datname = current_database() and application_name like 'bulkhead worker%'
                """
            )
        }
    }

    func kill(_ server: PostgresServer, at moments: [Int]) async throws {
        for moment in moments {
            try await waitUntil(rows: moment)
            try await server.kill()
            try await server.start()
        }
    }

    /// Freezes whoever of the two has the job until the other one has it.
    func freeze(_ first: Running, _ second: Running, at moments: [Int]) async throws {
        for moment in moments {
            try await waitUntil(rows: moment)
            let holder = try await database.value(
                """
                select d.pid from bulkhead.job j join bulkhead.daemon d on d.id = j.daemon order by j.id desc limit 1
                """
            )
            let frozen = holder == String(first.pid) ? first : second
            frozen.send(SIGSTOP)
            // Another daemon has it, or it is done.
            try await database.waitUntil(
                """
                select state = 'completed' or coalesce((
                    select d.pid <> \(Int(frozen.pid)) from bulkhead.daemon d where d.id = j.daemon), false)
                from bulkhead.job j order by j.id desc limit 1
                """
            )
            frozen.send(SIGCONT)
        }
    }

    // MARK: Waiting

    func waitUntil(rows: Int) async throws {
        try await database.waitUntil(
            """
            select \(reached) >= \(rows) or state in ('completed', 'discarded') from bulkhead.job
            order by id desc limit 1
            """,
            within: .seconds(120)
        )
    }

    /// Waits until the daemon is among those that are alive: before that, a signal ends it like any program.
    func waitUntilReady(_ daemon: Running) async throws {
        try await database.waitUntil(
            "select exists (select from bulkhead.daemon where pid = \(Int(daemon.pid)))"
        )
    }

    /// Waits for the job's end and stops the daemon.
    func waitForEnd(_ daemon: Running) async throws {
        try await waitUntilReady(daemon)
        do {
            try await database.waitUntil(
                "select state = 'completed' from bulkhead.job order by id desc limit 1",
                within: .seconds(120)
            )
        } catch {
            Issue.record(
                "\(error)\n\(try daemon.errors())\n\(try await database.rows("select * from bulkhead.job_error"))"
            )
        }
        try await stop(daemon)
    }

    func stop(_ daemon: Running) async throws {
        daemon.send(SIGTERM)
        #expect(await daemon.end() == 0)
    }

    private static func setting(_ name: String, _ usual: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap(Int.init) ?? usual
    }
}
