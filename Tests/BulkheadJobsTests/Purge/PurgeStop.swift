import Bulkhead
import BulkheadTesting
import Postgres

/// A purge that is stopped inside its first batch, and then between that and the next one.
struct PurgeStop {
    private let bench: PurgeBench
    private let gate: TestSession
    private let daemon: TestDaemon

    /// Makes every DELETE on a table, one that holds rows itself, wait at a gate.
    static func gate(on table: String) -> String {
        """
        create function hc.gate() returns trigger language plpgsql as $$
        begin perform pg_advisory_xact_lock_shared(4711); return null; end $$;
        create trigger gate after delete on \(table) for each statement execute function hc.gate();
        """
    }

    /// Starts a daemon and waits until a batch is at the gate.
    static func start(_ bench: PurgeBench) async throws -> PurgeStop {
        let gate = try await bench.database.session()
        _ = try await gate.value("select pg_advisory_lock(4711)")
        let daemon = try await bench.startDaemon { $0.drains = true }
        try await waitForWaiter("objid = 4711", bench)
        return PurgeStop(bench: bench, gate: gate, daemon: daemon)
    }

    /// Lets the batch commit, and runs the closure before the next one begins.
    func betweenBatches(of job: Int64, _ body: () async throws -> Void) async throws {
        let holder = try await bench.database.session()
        async let held = holder.value(
            "select pg_advisory_lock(bulkhead.lock_class(), bulkhead.lock_key(\(job)))"
        )
        try await Self.waitForWaiter("objsubid = 2", bench)
        await gate.close()
        _ = try await held
        try await body()
        await holder.close()
    }

    /// Lets it go on, and waits for the end.
    func finish() async throws {
        await gate.close()
        try await daemon.wait()
    }

    private static func waitForWaiter(_ lock: String, _ bench: PurgeBench) async throws {
        try await bench.database.waitUntil(
            SQL(
                unsafe: """
                    select exists (
                        select from pg_locks l join pg_database d on d.oid = l.database
                        where d.datname = current_database() and l.locktype = 'advisory' and l.\(lock)
                            and not l.granted)
                    """
            )
        )
    }
}
