import BulkheadTesting
import Foundation
import Postgres
import Testing

/// Jobs and queues steered from the command line.
@Suite struct SteeringTests {
    @Test func jobsArePausedResumedAndRetriedOneByOneAndRefusalsAreNamed() async throws {
        try await Workplace.with { place in
            try await place.database.run(
                """
                insert into bulkhead.job (kind, state, finished_at)
                values ('k', 'available', null), ('k', 'completed', now()), ('k', 'discarded', now())
                """
            )
            let paused = try await place.program.run("pause", "1", "2", "99", "--json")
            #expect(paused.status == 1)
            #expect(paused.output == "{\"paused\":[1]}\n")
            #expect(
                paused.errors
                    == "bulkhead: job 2 is already completed\nbulkhead: there is no job 99\n"
            )
            let resumed = try await place.program.run("resume", "1")
            #expect(resumed.status == 0)
            #expect(resumed.output == "")
            #expect(resumed.errors == "job 1 goes on\n")
            let retried = try await place.program.run("retry", "3", "--from-start")
            #expect(retried.status == 0)
            #expect(retried.errors == "job 3 runs again from the start\n")
            let refused = try await place.program.run("retry", "2", "3")
            #expect(refused.status == 1)
            #expect(refused.errors.contains("job 2 is completed: enqueue a new one"))
            #expect(refused.errors.contains("job 3 is available and will run"))
            #expect(
                try await place.database.rows("select state from bulkhead.job order by id") == [
                    ["available"], ["completed"], ["available"],
                ]
            )
        }
    }

    @Test func anImportThatFailedGoesOnWithMoreRejects() async throws {
        try await Workplace.with { place in
            try await place.database.run("create table t (id int primary key)")
            try place.write("id\n1\nx\n3\n", to: "f.csv")
            _ = try await place.program.run("import", "t", "f.csv")
            _ = try await place.drain()
            #expect(try await place.database.value("select state from bulkhead.job") == "discarded")
            let retried = try await place.program.run("retry", "1", "--max-rejects", "1")
            #expect(retried.status == 0, "\(retried.errors)")
            _ = try await place.drain()
            let shown = try await place.program.run("show", "1").output
            #expect(shown.hasPrefix("job 1: import, completed\n"), "\(shown)")
            #expect(shown.contains("3 read, 2 inserted, 1 rejected"))
            #expect(try await place.database.value("select count(*) from bulkhead.reject") == "1")
        }
    }

    @Test func aQueueIsSteeredAndShown() async throws {
        try await Workplace.with { place in
            let paused = try await place.program.run("queue", "pause", "nightly")
            #expect(paused.status == 0)
            #expect(paused.output == "")
            #expect(paused.errors.contains("queue nightly has no jobs so far"))
            let limited = try await place.program.run("queue", "limit", "nightly", "2", "--json")
            #expect(try place.keys(of: limited.output).isSuperset(of: ["name", "max_running"]))
            try await place.database.run("select bulkhead.enqueue('import', queue => 'nightly')")
            let drained = try await place.drain("--queue", "nightly")
            #expect(drained.status == 0)
            let listed = try await place.program.run("queues")
            let lines = listed.output.split(separator: "\n").map {
                $0.split(separator: " ").map(String.init)
            }
            #expect(lines.last == ["nightly", "paused", "2", "0", "1", "0", "0", "0", "0"])
            let json = try await place.program.run("queues", "--json").output
            let list = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [[String: Any]]
            #expect(list?.count == 1)
            #expect(list?.first?["max_running"] as? Int == 2)
            for words in [["resume", "nightly"], ["limit", "nightly", "none"]] {
                #expect(try await place.program.run(["queue"] + words).status == 0)
            }
            _ = try await place.drain("--queue", "nightly")
            // It ran: its arguments are no import's.
            #expect(try await place.database.value("select state from bulkhead.job") == "discarded")
        }
    }

    @Test func daemonsAreListed() async throws {
        try await Workplace.with { place in
            let none = try await place.program.run("daemons")
            #expect(none.status == 0)
            #expect(none.errors.contains("start one with `bulkhead worker`"))
            let worker = try place.program.start("worker", "--workers", "3")
            try await worker.waitForErrors { $0.contains("ready") }
            let listed = try await place.program.run("daemons").output
            #expect(listed.contains("\(worker.pid)  alive  0 of 3  default"), "\(listed)")
            let json = try await place.program.run("daemons", "--json").output
            let list = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [[String: Any]]
            #expect(list?.first?["alive"] as? Bool == true)
            worker.send(SIGTERM)
            #expect(await worker.end() == 0)
        }
    }

    @Test func aJobOfAnyKindIsEnqueuedWithItsOptions() async throws {
        try await Workplace.with { place in
            let json = "{\"n\": 12345678901234567890.10, \"t\": \"é\"}"
            let plain = try await place.program.run("enqueue", "mine", json, "--any-host")
            #expect(plain.output == "1\n")
            #expect(plain.errors == "")
            let full = try await place.program.run(
                "enqueue",
                "mine",
                "--queue",
                "q",
                "--priority",
                "-3",
                "--in",
                "1 hour",
                "--max-attempts",
                "2",
                "--unique",
                "u",
                "--tag",
                "a",
                "--tag",
                "b",
                "--json"
            )
            #expect(full.output == "{\"id\":2}\n", "\(full.errors)")
            let again = try await place.program.run("enqueue", "mine", "--unique", "u")
            #expect(again.output == "2\n")
            try place.write("{\"from\": \"stdin\"}\n", to: "args.json")
            let piped = try await place.program.shell("\"$BULKHEAD\" enqueue mine - <args.json")
            // The third id went to the one whose key was taken.
            #expect(piped.output == "4\n", "\(piped.errors)")
            #expect(
                try await place.database.rows(
                    """
                    select args::text, queue, priority, state, max_attempts, unique_key, tags, host is null
                    from bulkhead.job order by id
                    """
                ) == [
                    [
                        "{\"n\": 12345678901234567890.10, \"t\": \"é\"}", "default", "0",
                        "available", "20", nil, nil, "t",
                    ],
                    ["{}", "q", "-3", "scheduled", "2", "u", "{a,b}", "f"],
                    ["{\"from\": \"stdin\"}", "default", "0", "available", "20", nil, nil, "f"],
                ]
            )
        }
    }

    @Test(arguments: ["{", "[1]", "7", "{\"a\":1}}", "", "{\"a\":\"\\u0000\"}"])
    func whatIsNoJSONObjectIsRefused(_ json: String) async throws {
        try await Workplace.with { place in
            let result = try await place.program.run("enqueue", "mine", json)
            #expect(result.status == 2, "\(result.errors)")
            #expect(result.output == "")
            let says = json.contains("u0000") ? "\\u0000 cannot be" : "json"
            #expect(result.errors.lowercased().contains(says), "\(result.errors)")
            #expect(result.errors.split(separator: "\n").count == 1, "\(result.errors)")
            #expect(try await place.database.value("select count(*) from bulkhead.job") == "0")
        }
    }

    @Test func whoWaitsForAJobOfAPausedQueueIsToldSo() async throws {
        try await Workplace.with { place in
            try await place.database.run("select bulkhead.pause_queue('default')")
            let waiting = try place.program.start("enqueue", "mine", "--wait")
            try await waiting.waitForErrors { $0.contains("queue default is paused") }
            try await place.database.run("select bulkhead.cancel(1)")
            #expect(await waiting.end() == 1)
        }
    }
}
