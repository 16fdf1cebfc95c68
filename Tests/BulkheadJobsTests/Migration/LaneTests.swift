import Bulkhead
import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

@Suite struct LaneTests {
    private static let tables = "create table a (n int); create table b (n int)"

    /// A job of many batches that each insert into a table; a gate lets them go on one by one.
    private func writer(_ table: String, _ begun: TestSignal<Void>, _ goOn: TestSignal<Void>)
        -> TestHandler
    {
        TestHandler("write") { context in
            try await context.works(on: [table])
            for _ in 0..<2 {
                try await context.transaction { batch in
                    try batch.connection.query("insert into a values (1)")
                    begun.send()
                    try await goOn.next()
                    return context.progress
                }
            }
        }
    }

    @Test func aStepWaitsForTheBatchAndTheNextBatchForTheStep() async throws {
        try await MigrationScene.with(Self.tables) { scene in
            let (begun, goOn) = (TestSignal(), TestSignal())
            let holder = try await scene.database.session()
            let daemon = try await TestDaemon.start(
                scene.database,
                [MigrationHandler(), writer("a", begun, goOn)]
            )
            try await scene.database.run("select bulkhead.enqueue('write')")
            try await begun.next()
            let job = try await scene.enqueue([("1_a.sql", "alter table a add b int")])
            try await scene.database.waitUntil(
                "select waiting like 'a batch on public.a (bulkhead worker%' from bulkhead.job where id = \(job)"
            )
            // The step is held up before its end, with its lane.
            try await holder.run("begin; select * from a")
            goOn.send()
            try await scene.database.waitUntil(
                "select waiting like 'a migration step on public.a (bulkhead worker%' from bulkhead.job where kind = 'write'"
            )
            try await scene.expect("select state from bulkhead.job where id = \(job)", "running")
            try await holder.run("commit")
            try await begun.next()
            goOn.send()
            try await scene.database.waitUntil(
                "select count(*) = 2 from bulkhead.job where state = 'completed'"
            )
            try await scene.expect("select count(*) from a where b is null", "2")
            try await daemon.stop()
        }
    }

    @Test func onAnotherTableTheyRunTogether() async throws {
        try await MigrationScene.with(Self.tables) { scene in
            let (begun, goOn) = (TestSignal(), TestSignal())
            let daemon = try await TestDaemon.start(
                scene.database,
                [MigrationHandler(), writer("a", begun, goOn)]
            )
            try await scene.database.run("select bulkhead.enqueue('write')")
            try await begun.next()
            let job = try await scene.enqueue([("1_b.sql", "alter table b add b int")])
            try await scene.database.waitUntil(
                "select state = 'completed' from bulkhead.job where id = \(job)"
            )
            goOn.send()
            try await begun.next()
            goOn.send()
            try await daemon.stop()
        }
    }

    /// Whoever holds a lane holds it with its session alone.
    @Test func anImportYieldsToAStepAndGoesOnWhenItsSessionEnds() async throws {
        try await MigrationScene.with(Self.tables) { scene in
            let step = try await scene.database.session()
            try await #expect(
                step.value("select bulkhead.hold_migration(array['a'::regclass])") == nil
            )
            let folder = try TemporaryDirectory()
            try folder.write("n\n1\n2\n", to: "a.csv")
            try folder.write("n\n1\n2\n", to: "b.csv")
            try await scene.database.run(
                "select bulkhead.import('a', array['a.csv']), bulkhead.import('b', array['b.csv'])"
            )
            let daemon = try await TestDaemon.start(
                scene.database,
                [ImportHandler(importRoot: folder.path)]
            )
            try await scene.database.waitUntil(
                "select state = 'completed' from bulkhead.job where args ->> 'table_name' = 'public.b'"
            )
            try await scene.database.waitUntil(
                "select waiting = 'a migration step on public.a (bulkhead test pid ' || \(try await step.value("select pg_backend_pid()")) || ')' from bulkhead.job where args ->> 'table_name' = 'public.a'"
            )
            try await scene.expect("select count(*) from a", "0")
            await step.close()
            try await scene.database.waitUntil(
                "select count(*) = 2 from bulkhead.job where state = 'completed'"
            )
            try await scene.expect("select count(*) from a", "2")
            try await daemon.stop()
        }
    }

    @Test func aFileMayNameTheTablesOfAStep() async throws {
        try await MigrationScene.with(Self.tables) { scene in
            let (begun, goOn) = (TestSignal(), TestSignal())
            let daemon = try await TestDaemon.start(
                scene.database,
                [MigrationHandler(), writer("a", begun, goOn)]
            )
            try await scene.database.run("select bulkhead.enqueue('write')")
            try await begun.next()
            let job = try await scene.enqueue([
                ("1_b.sql", "-- bulkhead: tables b, a\ndo $$ begin end $$")
            ])
            try await scene.database.waitUntil(
                "select waiting like 'a batch on public.a (bulkhead worker%' from bulkhead.job where id = \(job)"
            )
            goOn.send()
            try await begun.next()
            goOn.send()
            try await scene.database.waitUntil(
                "select state = 'completed' from bulkhead.job where id = \(job)"
            )
            try await daemon.stop()
        }
    }

    @Test func onlyOneMigrationHasItsTurn() async throws {
        try await MigrationScene.with(Self.tables) { scene in
            let first = try await scene.database.session()
            let second = try await scene.database.session()
            try await #expect(first.value("select bulkhead.hold_migration('{}')") == nil)
            let reason = try await second.value("select bulkhead.hold_migration('{}')")
            #expect(reason?.hasPrefix("another migration (bulkhead test pid ") == true)
            await first.close()
            try await second.waitUntil("select bulkhead.hold_migration('{}') is null")
            // A lane that is no longer wanted is free again.
            try await #expect(
                second.value("select bulkhead.hold_migration(array['a'::regclass])") == nil
            )
            try await #expect(
                second.value("select bulkhead.hold_migration(array['b'::regclass])") == nil
            )
            try await scene.expect("select bulkhead.enter_lanes(array['a'::regclass])", nil)
            let closed = try await scene.database.value(
                "select bulkhead.enter_lanes(array['b'::regclass])"
            )
            #expect(closed?.hasPrefix("a migration step on public.b") == true)
        }
    }
}
