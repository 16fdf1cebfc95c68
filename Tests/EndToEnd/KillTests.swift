import BulkheadTesting
import Foundation
import Postgres
import PostgresServer
import Testing

/// Whatever dies in the middle of an import, each row is there exactly once.
///
/// `BULKHEAD_KILL_ROWS` and `BULKHEAD_KILLS` make the runs longer.
@Suite struct KillTests {
    @Test(arguments: ImportUnderFire.Format.allCases)
    func daemonKilledAtRandomMoments(format: ImportUnderFire.Format) async throws {
        try await importing(format) { run in
            try await run.finish(try await run.fire.killDaemons(at: run.randomMoments()))
        }
    }

    @Test(arguments: ImportUnderFire.Format.allCases)
    func serverProcessesOfWorkersTerminatedAtRandomMoments(
        format: ImportUnderFire.Format
    ) async throws {
        try await importing(format) { run in
            let daemon = try run.startDaemon()
            try await run.fire.terminateWorkers(at: run.randomMoments())
            try await run.finish(daemon)
            #expect(try await run.database.value("select attempt from bulkhead.job") == "1")
        }
    }

    @Test(arguments: ["error", "skip", "fill", "update", "replace"], [false, true])
    func daemonKilledAtRandomMomentsUnderEveryPolicy(policy: String, atomic: Bool) async throws {
        try await UnderFire.with { fire in
            try await ImportUnderFire.with(
                fire,
                .csv,
                rows: UnderFire.rows / 4,
                policy: policy,
                atomic: atomic
            ) { run in
                let moments = run.randomMoments().prefix(max(2, UnderFire.kills / 4))
                try await run.finishMerging(try await run.fire.killDaemons(at: Array(moments)))
            }
        }
    }

    @Test func postmasterKilledAndStartedAgain() async throws {
        let server = try await PostgresServer.start(.init(fsync: true))
        do {
            try await importing(on: server) { run in
                let daemon = try run.startDaemon()
                try await run.fire.kill(server, at: Array(run.randomMoments().prefix(4)))
                try await run.finish(daemon)
                #expect(try await run.database.value("select attempt from bulkhead.job") == "1")
            }
            await server.close()
        } catch {
            await server.close()
            throw error
        }
    }

    @Test func daemonFrozenForLongerThanItsLeaseWhileAnotherTakesOver() async throws {
        try await importing { run in
            let first = try run.startDaemon("--lease", "1")
            let second = try run.startDaemon("--lease", "1")
            try await run.fire.freeze(first, second, at: Array(run.randomMoments().prefix(3)))
            try await run.finish(first)
            second.send(SIGTERM)
            #expect(await second.end() == 0)
        }
    }

    @Test func daemonFrozenBetweenItsLastStatementAndCommit() async throws {
        try await importing { run in
            // COMMIT waits for a lock of ours, after the fence has passed.
            try await run.database.run(
                """
                create function public.stall() returns trigger language plpgsql as $$
                begin perform pg_advisory_xact_lock(4711); return null; end $$;
                create constraint trigger stall after update on bulkhead.job
                deferrable initially deferred for each row
                when (new.batches > old.batches and new.batches = 7) execute function public.stall()
                """
            )
            let lock = try await run.database.session()
            _ = try await lock.value("select pg_advisory_lock(4711)")
            let first = try run.startDaemon("--lease", "1")
            try await run.database.waitUntil(
                """
                select exists (select from pg_locks where locktype = 'advisory' and objid = 4711 and not granted)
                """
            )
            first.send(SIGSTOP)
            let second = try run.startDaemon("--lease", "1")
            try await run.database.waitUntil("select attempt = 2 from bulkhead.job")
            await lock.close()
            first.send(SIGCONT)
            try await run.finish(second)
            first.send(SIGTERM)
            #expect(await first.end() == 0)
        }
    }

    @Test func twoDaemonsFromTheStart() async throws {
        try await importing { run in
            var daemons = [try run.startDaemon(), try run.startDaemon()]
            for (index, moment) in run.randomMoments().enumerated() {
                try await run.waitUntil(rows: moment)
                daemons[index % 2].send(SIGKILL)
                _ = await daemons[index % 2].end()
                daemons[index % 2] = try run.startDaemon()
            }
            try await run.finish(daemons[0])
            try await run.waitUntilReady(daemons[1])
            daemons[1].send(SIGTERM)
            #expect(await daemons[1].end() == 0)
        }
    }

    @Test func daemonToldToStopHandsTheJobBackWithoutCountingTheAttempt() async throws {
        try await importing { run in
            for moment in run.randomMoments().prefix(3) {
                let daemon = try run.startDaemon()
                try await run.waitUntil(rows: moment)
                try await run.waitUntilReady(daemon)
                daemon.send(SIGTERM)
                #expect(await daemon.end() == 0)
                let left = try await run.database.rows(
                    """
                    select attempt, state in ('available', 'completed'), (select count(*) from bulkhead.daemon)
                    from bulkhead.job
                    """
                )
                #expect(left[0][1] == "t")
                #expect(left[0][2] == "0")
            }
            try await run.finish(try run.startDaemon())
            #expect(try await run.database.value("select attempt from bulkhead.job") == "1")
        }
    }

    // MARK: A run

    private func importing(
        _ format: ImportUnderFire.Format = .csv,
        on server: PostgresServer? = nil,
        _ body: (ImportUnderFire) async throws -> Void
    ) async throws {
        try await UnderFire.with(on: server) { fire in
            try await ImportUnderFire.with(fire, format, rows: UnderFire.rows, body)
        }
    }
}

/// An import into a table without a key, where only a checkpoint of the same transaction can be right.
struct ImportUnderFire {
    let fire: UnderFire
    private let rows: Int
    private var policy: String?
    private var isAtomic = false

    enum Format: String, CaseIterable, Sendable {
        case csv, jsonl

        func text(rows: Int) -> String {
            var text = self == .csv ? "src_line,val\n" : ""
            for row in 1...rows {
                text +=
                    self == .csv
                    ? "\(row),v\(row)\n" : "{\"val\":\"v\(row)\",\"src_line\":\(row)}\n"
            }
            return text
        }
    }

    static func with(
        _ fire: UnderFire,
        _ format: Format,
        rows: Int,
        policy: String? = nil,
        atomic: Bool = false,
        _ body: (ImportUnderFire) async throws -> Void
    ) async throws {
        let file = "in.\(format)"
        try format.text(rows: rows).write(
            to: fire.folder.appending(path: file),
            atomically: true,
            encoding: .utf8
        )
        try await fire.database.run(
            "create schema hc; create table hc.row_once (src_line bigint, val text)"
        )
        if let policy { try await fire.database.run(stored(rows: rows, policy)) }
        let run = ImportUnderFire(
            fire: fire,
            rows: rows,
            policy: policy,
            isAtomic: atomic
        )
        try await fire.enqueue(
            "import",
            "hc.row_once",
            file,
            "--batch",
            "500",
            "--on-conflict",
            policy ?? "error",
            atomic ? "--atomic" : "--quiet"
        )
        try await body(run)
    }

    var database: TestDatabase { fire.database }

    func startDaemon(_ options: String...) throws -> Running {
        try fire.program.start(
            ["worker", "--import-root", fire.folder.path(), "--log-level", "debug"] + options
        )
    }

    func randomMoments() -> [Int] { UnderFire.randomMoments(below: rows) }

    func waitUntil(rows: Int) async throws { try await fire.waitUntil(rows: rows) }

    func waitUntilReady(_ daemon: Running) async throws { try await fire.waitUntilReady(daemon) }

    /// Every third row is there already, and counts how often it was changed.
    private static func stored(rows: Int, _ policy: String) -> String {
        """
        alter table hc.row_once add primary key (src_line), add changes int not null default 0;
        \(policy == "error" ? "" : "insert into hc.row_once select n, null from generate_series(3, \(rows), 3) n;")
        create function hc.count() returns trigger language plpgsql as $$
        begin new.changes := old.changes + 1; return new; end $$;
        create trigger count before update on hc.row_once for each row execute function hc.count();
        """
    }

    /// Waits for the job's end, stops the daemon, and looks at what each row has become.
    func finishMerging(_ daemon: Running) async throws {
        try await fire.waitForEnd(daemon)
        let there = policy == "error" ? 0 : rows / 3
        let changed = policy == "error" || policy == "skip" ? 0 : there
        #expect(
            try await database.rows(
                """
                select count(*), count(val), sum(changes), max(changes) from hc.row_once
                where val is null or val = 'v' || src_line
                """
            ) == [
                [
                    "\(rows)", "\(policy == "skip" ? rows - there : rows)", "\(changed)",
                    changed > 0 ? "1" : "0",
                ]
            ]
        )
        #expect(
            try await database.rows(
                """
                select result -> 'inserted', result -> 'updated', result -> 'skipped', result -> 'read'
                from bulkhead.job
                """
            ) == [["\(rows - there)", "\(changed)", "\(policy == "skip" ? there : 0)", "\(rows)"]]
        )
    }

    /// Waits for the job's end, stops the daemon, and counts.
    func finish(_ daemon: Running) async throws {
        try await fire.waitForEnd(daemon)
        let sum = Int64(rows) * Int64(rows + 1) / 2
        #expect(
            try await database.rows(
                "select count(*), count(distinct src_line), min(src_line), max(src_line), sum(src_line) from hc.row_once"
            ) == [["\(rows)", "\(rows)", "1", "\(rows)", "\(sum)"]]
        )
        #expect(
            try await database.value("select result ->> 'inserted' from bulkhead.job") == "\(rows)"
        )
    }
}
