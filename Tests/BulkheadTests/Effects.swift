import Bulkhead
import BulkheadTesting
import Postgres

/// A job whose batches leave something that can be counted: one row and one change a batch.
enum Effects {
    static let setUp = "create table effect (batch int, at timestamptz default clock_timestamp())"

    /// The lock on which a batch waits at the point that a test has chosen.
    static let gate: Int64 = 77

    /// Runs batches until so many are committed.
    ///
    /// - Parameters:
    ///   - batches: How many.
    ///   - before: Runs in each batch, before its work.
    ///   - during: Runs in each batch, after its work.
    ///   - between: Runs ahead of each batch, outside of its transaction.
    /// - Returns: The handler.
    static func handler(
        _ batches: Int,
        before: @escaping @Sendable (Batch, Int) throws -> Void = { _, _ in },
        during: @escaping @Sendable (Batch, Int) throws -> Void = { _, _ in },
        between: @escaping @Sendable (Int) async throws -> Void = { _ in }
    ) -> TestHandler {
        TestHandler("effects") { context in
            while context.progress.rowsDone < batches {
                let number = Int(context.progress.rowsDone)
                try await between(number)
                try await context.batch { batch in
                    try before(batch, number)
                    try batch.connection.query("insert into effect values (\(number))")
                    try batch.publish(.insert, of: "public.effect", ids: JSONText("[\(number)]"))
                    try during(batch, number)
                    return Progress(
                        checkpoint: JSONText("{\"next\":\(number + 1)}"),
                        rowsDone: Int64(number + 1),
                        rowsTotal: Int64(batches)
                    )
                }
            }
        }
    }

    /// Says `t` when the job is complete and each batch took effect exactly once.
    static func areExactlyOnce(_ batches: Int) -> SQL {
        """
        select state = 'completed' and j.batches = \(batches) and rows_done = \(batches)
            and (select array_agg(batch order by batch) from effect)
                = (select array_agg(n) from generate_series(0, \(batches) - 1) n)
            and (select array_agg((ids ->> 0)::int order by ids) from bulkhead.change where job = j.id)
                = (select array_agg(n) from generate_series(0, \(batches) - 1) n)
        from bulkhead.job j where kind = 'effects'
        """
    }

    /// Says `t` while a session of a worker waits for the gate.
    static let isAtGate: SQL = """
        select exists (
            select from pg_locks l join pg_stat_activity a using (pid)
            where l.locktype = 'advisory' and not l.granted and l.objid = 77 and l.objsubid = 1
                and a.datname = current_database())
        """

    static let endWhoIsAtGate = """
        select pg_terminate_backend(l.pid, 5000) from pg_locks l join pg_stat_activity a using (pid)
        where l.locktype = 'advisory' and not l.granted and l.objid = 77 and l.objsubid = 1
            and a.datname = current_database()
        """

    /// Makes the server wait at the gate when a batch writes the job's row: after the fence has been
    /// passed, before COMMIT.
    static let gateAfterFence = """
        create function wait_at_gate() returns trigger language plpgsql as $$
        begin
            if new.batches > old.batches then
                perform set_config('lock_timeout', '0', true);
                perform pg_advisory_xact_lock(77);
            end if;
            return null;
        end $$;
        create constraint trigger gate after update on bulkhead.job deferrable initially deferred
        for each row execute function wait_at_gate();
        """
}
