import Bulkhead
import BulkheadTesting
import Foundation
import Postgres
import Testing

@Suite struct RescueTests {
    private func rescue(_ database: TestDatabase, onlyEnded: Bool = false) async throws
        -> [[String?]]
    {
        try await database.rows("select job, state from bulkhead.rescue(0, \(onlyEnded))")
    }

    @Test func onlyJobsWhoseDaemonIsGoneAreTaken() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k') from generate_series(1, 3)")
            let (alive, expired, gone) = (
                try await Claimant(database), try await Claimant(database),
                try await Claimant(database)
            )
            for claimant in [alive, expired, gone] { _ = try await claimant.claim() }
            #expect(try await rescue(database).isEmpty)
            _ = try await database.rows("delete from bulkhead.daemon where id = \(gone.id)::uuid")
            _ = try await database.rows(
                "update bulkhead.daemon set lease_expires_at = now() - interval '1 s' where id = \(expired.id)::uuid"
            )
            // Right after a restart of the server leases that ran out say nothing.
            #expect(try await rescue(database, onlyEnded: true) == [["3", "available"]])
            #expect(try await rescue(database) == [["2", "available"]])
            #expect(try await rescue(database).isEmpty)
            try await database.expect(
                "select daemon::text from bulkhead.job where id = 1",
                alive.id
            )
        }
    }

    @Test func aJobThatKillsItsDaemonsIsGivenUpAndThatIsSaid() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k', max_attempts => 2)")
            for state in ["available", "discarded"] {
                let claimant = try await Claimant(database)
                #expect(try await claimant.claim() == [1])
                try await database.run("delete from bulkhead.daemon")
                #expect(try await rescue(database) == [["1", state]])
            }
            try await database.expect(
                "select count(*) = 2 and max(message) like '%attempt 2 of 2%given up%' from bulkhead.job_error",
                "t"
            )
        }
    }

    @Test func theUnstartedOfADeadBunchAreNotCountedAndThenRunAlone() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                "select bulkhead.enqueue('k', max_attempts => 1) from generate_series(1, 5)"
            )
            for _ in 0..<2 {
                let claimant = try await Claimant(database)
                _ = try await claimant.claim(small: ["k"])
                try await database.run("delete from bulkhead.daemon")
                while try await !rescue(database).isEmpty {}
            }
            // The first death took all five at once; of the second one it is known which job it was.
            #expect(
                try await database.rows(
                    "select state, count(*) from bulkhead.job group by 1 order by 1"
                ) == [["available", "4"], ["discarded", "1"]]
            )
        }
    }

    @Test func aServerProcessThatStillHoldsTheJobIsEnded() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k'); create table t (n int)")
            let claimant = try await Claimant(database)
            _ = try await claimant.claim()
            let frozen = try await database.session()
            try await frozen.run(
                """
                begin;
                select pg_advisory_xact_lock(bulkhead.lock_class(), bulkhead.lock_key(1));
                insert into t values (1);
                update bulkhead.job set rows_done = 9
                """
            )
            try await database.run("delete from bulkhead.daemon")
            #expect(try await rescue(database) == [["1", "available"]])
            let error = await #expect(throws: PostgresError.self) { try await frozen.run("commit") }
            #expect(error?.kind == .connectionLost)
            try await database.expect("select count(*) from t", "0")
            try await database.expect("select rows_done from bulkhead.job", "0")
        }
    }

    @Test func aRowThatSomeoneElseHoldsIsLeftForTheNextTime() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k')")
            let claimant = try await Claimant(database)
            _ = try await claimant.claim()
            try await database.run("delete from bulkhead.daemon")
            let psql = try await database.session()
            try await psql.run("begin; select from bulkhead.job for update")
            #expect(try await rescue(database) == [["1", nil]])
            try await psql.run("rollback")
            #expect(try await rescue(database) == [["1", "available"]])
        }
    }

    @Test func aRequestToCancelIsHeededByTheRescue() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k')")
            let claimant = try await Claimant(database)
            _ = try await claimant.claim()
            try await database.run("select bulkhead.cancel(1); delete from bulkhead.daemon")
            #expect(try await rescue(database) == [["1", "cancelled"]])
            try await database.expect("select count(*) from bulkhead.request", "0")
        }
    }

    @Test func aDaemonTakesTheJobsOfADeadProcessOfItsHostAtOnce() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k') from generate_series(1, 2)")
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/bin/true")
            try process.run()
            process.waitUntilExit()
            let place = try String(
                contentsOfFile: "/proc/sys/kernel/random/boot_id",
                encoding: .utf8
            )
            .filter { !$0.isNewline }
            let namespace = try FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/self/ns/pid"
            )
            // One is this host's dead process; one is of another boot, about which nothing is known here.
            for (pid, start) in [
                (process.processIdentifier, "\(place)/\(namespace)/1"),
                (process.processIdentifier, "another-boot/\(namespace)/1"),
            ] {
                let claimant = try await Claimant(database, lease: "1 hour")
                _ = try await claimant.claim()
                _ = try await database.rows(
                    "update bulkhead.daemon set host = 'test', pid = \(pid), process_start = \(start) where id = \(claimant.id)::uuid"
                )
            }
            let daemon = try await TestDaemon.start(database, [TestHandler("k") { _ in }]) {
                $0.lease = .seconds(600)
            }
            try await database.waitUntil(
                "select state = 'completed' from bulkhead.job where id = 1"
            )
            try await database.expect("select state from bulkhead.job where id = 2", "running")
            try await daemon.stop()
        }
    }

    @Test func anotherDaemonRescuesWhatAFrozenOneHeld() async throws {
        try await TestDatabase.with { database in
            try await database.run(Effects.setUp + "; select bulkhead.enqueue('effects')")
            let claimant = try await Claimant(database, lease: "1 ms")
            _ = try await database.rows(
                "update bulkhead.job set state = 'running', attempt = 1, daemon = \(claimant.id)::uuid, started_at = now()"
            )
            let daemon = try await TestDaemon.start(database, [Effects.handler(3)]) {
                $0.lease = .milliseconds(600)
            }
            try await database.waitUntil(Effects.areExactlyOnce(3))
            try await database.waitUntil("select count(*) = 1 from bulkhead.daemon")
            try await database.expect("select attempt from bulkhead.job", "2")
            try await daemon.stop()
        }
    }
}
