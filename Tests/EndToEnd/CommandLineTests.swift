import BulkheadTesting
import Foundation
import Postgres
import Testing

/// What a user types and sees: exit status, what goes where, and in which form.
@Suite struct CommandLineTests {
    /// Words that each verb takes.
    static let commands = [
        ["setup", "--check"], ["worker", "--drain"], ["import", "t", "f.csv"], ["jobs"],
        ["show", "1"], ["wait", "1"], ["cancel", "1"], ["rejects", "1"], ["pause", "1"],
        ["resume", "1"], ["retry", "1"], ["enqueue", "k"], ["queues"], ["queue", "pause", "q"],
        ["daemons"],
    ]

    @Test func wrongUsageExitsWithTwoAndNamesTheWord() async throws {
        try await Workplace.with(hasSchema: false) { place in
            for command in Self.commands {
                let result = try await place.program.run(command + ["--unheard-of=geheim"])
                #expect(result.status == 2, "\(command)")
                #expect(result.output == "")
                #expect(result.errors.contains("unknown option --unheard-of;"), "\(result.errors)")
                #expect(result.errors.contains("bulkhead \(command[0]) --help"))
                #expect(!result.errors.contains("geheim"))
            }
            for (words, says) in [
                ([], "a verb is missing"), (["exprot"], "unknown verb exprot"),
                (["show"], "id of a job is missing"), (["show", "x"], "x is not the id"),
                (["show", "1", "2"], "one id"), (["import", "t"], "at least one file"),
                (["import", "t", ""], "empty"), (["jobs", "--state", "lost"], "--state is one of"),
                (["jobs", "here"], "jobs takes no here"),
                (["worker", "--workers", "0"], "--workers"),
                (["worker", "--queue", "q:0"], "--queue q:0"),
                (["worker", "--lease", "0"], "--lease"),
                (["worker", "--import-root", "/nowhere"], "/nowhere is not a directory"),
                (["worker", "--log-level", "loud"], "--log-level is one of"),
                (["import", "t", "f", "--columns", "a,,b"], "--columns"),
                (["import", "t", "f", "--map", "x"], "--map"),
                (["import", "t", "f", "--run-at", "x", "--in", "y"], "not both"),
                (["setup", "--check", "--remove"], "--check or --remove"),
                (["setup", "--yes"], "--yes"), (["pause"], "id of a job is missing"),
                (["retry", "1", "--max-rejects", "-1"], "--max-rejects"),
                (["queues", "q"], "queues takes no q"), (["queue"], "pause, resume or limit"),
                (["queue", "pause"], "queue pause NAME"), (["queue", "limit", "q"], "NAME N"),
                (["queue", "limit", "q", "0"], "from 1 up, or none"),
                (["enqueue"], "the kind of the job"), (["enqueue", "k", "{}", "{}"], "one JSON"),
                (["enqueue", "k", "--after", "1"], "unknown option --after"),
                (["enqueue", "k", "-"], "nothing came by standard input"),
                (["postgresql://me:geheim@h/db"], "me:****@h"),
            ] {
                let result = try await place.program.run(words)
                #expect(result.status == 2, "\(words): \(result.errors)")
                #expect(result.output == "")
                #expect(result.errors.contains(says), "\(result.errors)")
                #expect(!result.errors.contains("geheim"))
                #expect(result.errors.split(separator: "\n").count == 1)
            }
        }
    }

    @Test func argumentsThatTheServerRefusesAreWrongUsage() async throws {
        try await Workplace.with { place in
            try await place.database.run("create table t (id int primary key)")
            for words in [
                ["--format", "xml"], ["g.tsv"], ["g.jsonl"], ["--format", "jsonl", "--quote", "'"],
                ["--on-conflict", "merge"], ["--delimiter", ",,"],
                ["--run-at", "soon"], ["--in", "a while"], ["--queue", ""],
            ] {
                let result = try await place.program.run(["import", "t", "f.csv"] + words)
                #expect(result.status == 2, "\(words): \(result.errors)")
            }
            let missing = try await place.program.run("import", "nowhere", "f.csv")
            #expect(missing.status == 1)
            #expect(missing.errors.contains("there is no table nowhere"))
            #expect(try await place.database.value("select count(*) from bulkhead.job") == "0")
        }
    }

    @Test func helpAndVersionGoToStandardOutput() async throws {
        try await Workplace.with(hasSchema: false) { place in
            for words in [["--help"], ["help"], ["--version"]]
                + Self.commands.map({ [$0[0], "--help"] })
            {
                let result = try await place.program.run(words)
                #expect(result.status == 0)
                #expect(result.errors == "")
                #expect(!result.output.isEmpty)
            }
        }
    }

    @Test func withoutAServerTheStatusIsThreeAndNoPasswordIsShown() async throws {
        try await Workplace.with(hasSchema: false) { place in
            for command in Self.commands {
                let url = "postgresql://me:gehe%40im@127.0.0.1:1/db"
                let result = try await place.program.run(command + ["--database", url])
                #expect(result.status == 3, "\(command): \(result.errors)")
                #expect(result.output == "")
                #expect(result.errors.contains("me@127.0.0.1:1/db"), "\(result.errors)")
                #expect(!result.errors.contains("im@"))
                #expect(!result.errors.contains("gehe"))
            }
            let wrong = try await place.program.run("jobs", "--database", "postgresql:/me:geheim@h")
            #expect(wrong.status != 0)
            #expect(!wrong.errors.contains("geheim"))
        }
    }

    @Test func withoutASchemaTheStatusIsThreeAndSetupIsNamed() async throws {
        try await Workplace.with(hasSchema: false) { place in
            try await place.database.run("create table t (id int primary key)")
            for command in Self.commands where command[0] != "setup" {
                let result = try await place.program.run(command)
                #expect(result.status == 3, "\(command): \(result.errors)")
                #expect(result.errors.contains("run `bulkhead setup`"), "\(result.errors)")
            }
        }
    }

    @Test func anUnknownJobIsAFailure() async throws {
        try await Workplace.with { place in
            for verb in ["show", "wait", "cancel", "rejects", "pause", "resume", "retry"] {
                let result = try await place.program.run(verb, "4711")
                #expect(result.status == 1, "\(verb)")
                #expect(result.output == "")
                #expect(result.errors == "bulkhead: there is no job 4711\n")
            }
        }
    }

    @Test func resultsArePrintedAloneAndAsJSONWithTheTablesNames() async throws {
        try await Workplace.with { place in
            try await place.database.run("create table t (id int primary key, name text)")
            try place.write("id,name\n1,a\nx,\"b\n\u{1B}[31m\"\n3,c\n", to: "f.csv")
            let added = try await place.program.run(
                "import",
                "t",
                "f.csv",
                "--max-rejects",
                "1",
                "--tag",
                "--json"
            )
            #expect(added.output == "1\n")
            #expect(added.errors == "")
            let drained = try await place.drain()
            #expect(drained.status == 0)
            #expect(drained.output == "")
            let document = try await place.program.run(
                "import",
                "t",
                "f.csv",
                "--json",
                "--max-rejects",
                "9"
            )
            #expect(document.output == "{\"id\":2}\n")
            _ = try await place.drain()

            let columns = try await place.database.rows(
                """
                select attname from pg_attribute
                where attrelid = 'bulkhead.job_status'::regclass and attnum > 0
                """
            )
            let names = Set(columns.compactMap { $0[0] })
            let show = try await place.program.run("show", "1", "--json").output
            #expect(try place.keys(of: show) == names.union(["errors"]))
            let jobs = try await place.program.run("jobs", "--json").output
            let list = try JSONSerialization.jsonObject(with: Data(jobs.utf8)) as? [[String: Any]]
            #expect(list?.count == 2)
            #expect(list?.first.map { Set($0.keys) } == names)
            let rejects = try await place.program.run("rejects", "1", "--json").output
            #expect(rejects.split(separator: "\n").count == 1)
            #expect(
                try place.keys(of: rejects) == [
                    "id", "job", "file", "line", "byte_offset", "column_name", "value", "sqlstate",
                    "message", "raw", "row_bytes", "line_end",
                ]
            )
            let shown = try await place.program.run("show", "1")
            #expect(shown.output.hasPrefix("job 1: import, completed\n"))
            #expect(shown.output.contains("3 read, 2 inserted, 1 rejected"))
            let listed = try await place.program.run("rejects", "1")
            #expect(listed.output.split(separator: "\n").count == 1)
            #expect(!listed.output.contains("\u{1B}"))
            #expect(listed.output.contains("f.csv:3: "), "\(listed.output)")
            let cancelled = try await place.program.run("cancel", "2")
            #expect(cancelled.status == 1)
            #expect(cancelled.errors.contains("job 2 is already"), "\(cancelled.errors)")
        }
    }

    @Test func aReaderThatHasSeenEnoughIsNoError() async throws {
        try await Workplace.with { place in
            try await place.database.run(
                "insert into bulkhead.job (kind, args) select 'k', jsonb_build_object('x', repeat('y', 1000)) from generate_series(1, 500)"
            )
            let result = try await place.program.shell(
                """
                "$BULKHEAD" jobs --limit 500 --json | head -1 > /dev/null; echo "${PIPESTATUS[0]}"
                "$BULKHEAD" jobs --limit 500 --json | true; echo "${PIPESTATUS[0]}"
                """
            )
            #expect(result.output == "0\n0\n")
            #expect(result.errors == "")
        }
    }

    @Test func theSQLFunctionDoesTheSameAsTheCommand() async throws {
        try await Workplace.with { place in
            try await place.database.run("create table t (id int primary key, name text)")
            try place.write("id,name\n1,NA\n2,b\n", to: "f.csv")
            _ = try await place.program.run("import", "public.t", "f.csv", "--null", "NA")
            #expect(
                try await place.database.value(
                    "select bulkhead.import('public.t', 'f.csv', null_text => 'NA')"
                )
                    == "2"
            )
            let difference = try await place.database.rows(
                """
                select a.args - 'files' - 'table_name' = b.args - 'files' - 'table_name',
                    a.args ->> 'table_name' = b.args ->> 'table_name', b.host is null
                from bulkhead.job a, bulkhead.job b where a.id = 1 and b.id = 2
                """
            )
            #expect(difference == [["t", "t", "t"]])
            try await place.database.run("delete from bulkhead.job where id = 1")
            _ = try await place.drain()
            #expect(
                try await place.database.rows("select * from t order by id") == [
                    ["1", nil], ["2", "b"],
                ]
            )
        }
    }
}
