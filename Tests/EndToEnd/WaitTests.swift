import BulkheadTesting
import Foundation
import Postgres
import Testing

/// Waiting for jobs from the command line.
@Suite struct WaitTests {
    private static let table = "create table t (id int primary key, name text)"

    @Test func waitingShowsProgressAndEndsAsTheJobEnds() async throws {
        try await Workplace.with { place in
            try await place.database.run(Self.table)
            try place.write("id\n1\n2\n", to: "good.csv")
            try place.write("id\n3\nx\n", to: "bad.csv")
            let worker = try place.program.start("worker")
            let good = try await place.program.run("import", "t", "good.csv", "--wait")
            #expect(good.status == 0, "\(good.errors)")
            #expect(good.output == "1\n")
            #expect(good.errors.contains("job 1 completed: 2 read, 2 inserted"), "\(good.errors)")
            #expect(!good.errors.contains("\u{1B}"))
            let bad = try await place.program.run("import", "t", "bad.csv", "--wait", "--quiet")
            #expect(bad.status == 1)
            #expect(bad.output == "2\n")
            #expect(bad.errors.hasPrefix("bulkhead: job 2 discarded: "), "\(bad.errors)")
            #expect(bad.errors.contains("bad.csv line 3"), "\(bad.errors)")
            let json = try await place.program.run(
                "import",
                "t",
                "good.csv",
                "--on-conflict",
                "skip",
                "--wait",
                "--json"
            )
            #expect(json.status == 0)
            #expect(try place.keys(of: json.output).isSuperset(of: ["id", "state", "result"]))
            let both = try await place.program.run("wait", "1", "2")
            #expect(both.status == 1)
            worker.send(SIGTERM)
            #expect(await worker.end() == 0)
        }
    }

    @Test func progressIsPrintedByLinesWhereThereIsNoTerminal() async throws {
        try await Workplace.with { place in
            try await place.database.run(
                """
                insert into bulkhead.daemon values (gen_random_uuid(), 'h', 1, 'x', 'v', '{import}', '{default}',
                    2, now(), now() + interval '1 hour');
                insert into bulkhead.job (kind, state, daemon, rows_done, rows_total, started_at)
                select 'import', 'running', id, 1500, 3000, now() from bulkhead.daemon
                """
            )
            let waiting = try place.program.start("wait", "1")
            try await place.database.waitUntil(
                "select exists (select from pg_stat_activity where datname = current_database() and application_name = 'bulkhead')"
            )
            try await waiting.waitForErrors { $0.contains("1,500 rows, 50.0%") }
            try await place.database.run(
                "update bulkhead.job set state = 'completed', daemon = null, finished_at = now()"
            )
            #expect(await waiting.end() == 0)
            #expect(try waiting.errors().hasPrefix("job 1 running, 1,500 rows, 50.0%"))
            #expect(try waiting.output() == "")
        }
    }

    @Test func aConnectionThatIsLostIsOpenedAgain() async throws {
        try await Workplace.with { place in
            try await place.database.run(
                "insert into bulkhead.job (kind, state, run_at) values ('import', 'paused', now())"
            )
            let waiting = try place.program.start("wait", "1")
            try await place.database.waitUntil(
                """
                select bool_and(pg_terminate_backend(pid, 5000)) from pg_stat_activity
                where datname = current_database() and application_name = 'bulkhead'
                """
            )
            try await waiting.waitForErrors { $0.contains("waiting for the server") }
            try await place.database.run(
                "update bulkhead.job set state = 'completed', finished_at = now()"
            )
            #expect(await waiting.end() == 0)
        }
    }

    @Test func aMissingDaemonIsSaid() async throws {
        try await Workplace.with { place in
            try await place.database.run(Self.table)
            let waiting = try place.program.start(
                "import",
                "t",
                "f.csv",
                "--queue",
                "night",
                "--wait"
            )
            try await waiting.waitForErrors { $0.contains("no daemon that is alive") }
            #expect(try waiting.errors().contains("queue night"))
            waiting.send(SIGINT)
            #expect(await waiting.end() == 130)
            let errors = try waiting.errors()
            #expect(errors.contains("bulkhead wait 1"), "\(errors)")
            #expect(try await place.database.value("select state from bulkhead.job") == "available")
        }
    }

    @Test func aJobThatIsCancelledIsNotDone() async throws {
        try await Workplace.with { place in
            try await place.database.run(Self.table)
            let waiting = try place.program.start("import", "t", "f.csv", "--wait")
            try await waiting.waitForErrors { $0.contains("job 1 available") }
            let cancel = try await place.program.run("cancel", "1", "--json")
            #expect(cancel.output == "{\"cancelled\":[1]}\n")
            #expect(await waiting.end() == 1)
            #expect(try waiting.errors().contains("job 1 cancelled"))
        }
    }
}

extension Running {
    /// Waits until what the process wrote to standard error is as it should be.
    func waitForErrors(
        within limit: Duration = .seconds(20),
        _ isRight: (String) -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + limit
        while try !isRight(errors()) {
            guard .now < deadline else { throw NotStarted(what: "not said: \(try errors())") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
