import Bulkhead
import BulkheadTesting
import Postgres
import Testing

/// What daemons do for tracked tables: new partitions, rings, and batches that leave the record to the triggers.
@Suite struct TrackingDaemonTests {
    @Test func partitionsMadeLaterAreTrackedByADaemon() async throws {
        try await TestDatabase.with { database in
            let name = "d_\(database.name)"
            try await database.run(
                """
                \(TrackTests.partitioned); create role \(name) login; select bulkhead.grant_daemon('\(name)');
                create table p22 partition of p2 for values from (50) to (60);
                create table p3 partition of p for values from (100) to (200); insert into p3 values (101, 1)
                """
            )
            let role = try database.at(database.url.replacing("postgres@", with: "\(name)@"))
            let daemon = try await TestDaemon.start(role, []) { $0.lease = .milliseconds(300) }
            try await database.waitUntil(
                "select bulkhead.is_tracked('p22') and bulkhead.is_tracked('p3')"
            )
            try await daemon.stop()
            try await database.run("insert into p22 values (51, 1); delete from p3")
            // What was written before the daemon came is not known.
            #expect(
                try await database.changes() == [
                    "public.p reset null", "public.p insert [51]", "public.p delete [101]",
                ]
            )
            try await database.run("select bulkhead.untrack('p'); delete from p")
            #expect(try await database.changes().count == 3)
            try await database.run("drop owned by \(name); drop role \(name)")
        }
    }
    @Test func aBatchOnATrackedTableIsRecordedOnceWithItsJob() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                create table t (id int primary key); select bulkhead.track('t');
                create table u (id int primary key); select bulkhead.enqueue('k')
                """
            )
            let handler = TestHandler("k") { context in
                try await context.batch { batch in
                    try batch.connection.query("insert into t values (1), (2)")
                    try batch.connection.query("insert into u values (3)")
                    try batch.publish(.insert, of: "public.t", ids: JSONText("[1, 2]"))
                    try batch.publish(.insert, of: "public.u", ids: JSONText("[3]"))
                    try batch.publish(.reset, of: "public.t", ids: nil)
                    return Progress()
                }
            }
            try await TestDaemon.start(database, [handler]) { $0.drains = true }.wait()
            #expect(
                try await database.changes() == [
                    "public.t insert [1, 2]", "public.u insert [3]", "public.t reset null",
                ]
            )
            try await database.expect(
                "select bool_and(c.job = j.id) from bulkhead.change c, bulkhead.job j",
                "t"
            )
        }
    }

    @Test func aDaemonRingsForChangesThatNoBatchRangFor() async throws {
        try await TestDatabase.with { database in
            let name = "d_\(database.name)"
            try await database.run(
                """
                create table t (id int primary key); select bulkhead.track('t');
                create role \(name) login; select bulkhead.grant_daemon('\(name)')
                """
            )
            let listener = try await database.session()
            try await listener.run("listen bulkhead_change; listen bulkhead_end")
            let role = try database.at(database.url.replacing("postgres@", with: "\(name)@"))
            let first = try await TestDaemon.start(role, [])
            let second = try await TestDaemon.start(role, [])
            try await database.run("insert into t values (1), (2); insert into t values (3)")
            // A batch has rung for its own.
            try await database.run(
                "select bulkhead.publish('public.t', 'update', '[9]', 5); delete from t where id = 3"
            )
            var rings: [String] = []
            while !rings.contains(where: { $0.contains("delete") }) {
                rings += try await listener.notifications().map(\.payload)
            }
            try await first.stop()
            try await second.stop()
            try await database.run("notify bulkhead_end")
            while rings.last != "" {
                rings += try await listener.notifications().map(\.payload)
            }
            #expect(rings.filter { $0.contains("insert") }.count <= 2)
            #expect(rings.filter { $0.contains("delete") && $0.contains("[3]") }.count == 1)
            #expect(!rings.contains { $0.contains("update") })
            try await database.run("drop owned by \(name); drop role \(name)")
        }
    }
}
