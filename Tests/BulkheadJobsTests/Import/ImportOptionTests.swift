import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

/// Every option of an import, from the SQL function to the table.
@Suite struct ImportOptionTests {
    static let table = """
        create schema hc;
        create table hc.t (id int primary key, name text, note text default 'usual');
        """

    struct Choice: Sendable, CustomTestStringConvertible {
        let options: String
        let text: String
        let rows: [[String?]]
        var testDescription: String { options }
    }

    static let choices = [
        Choice(
            options: "format => 'tsv'",
            text: "id\tname\n1\ta,b\n",
            rows: [["1", "a,b", "usual"]]
        ),
        Choice(
            options: "delimiter => ';'",
            text: "id;name\n1;a,b\n",
            rows: [["1", "a,b", "usual"]]
        ),
        Choice(
            options: "quote => ''''",
            text: "id,name\n1,'a,b'\n",
            rows: [["1", "a,b", "usual"]]
        ),
        Choice(
            options: "escape => '\\'",
            text: "id,name\n1,\"a\\\"b\\\\\"\n",
            rows: [["1", "a\"b\\", "usual"]]
        ),
        Choice(
            options: "null_text => array['NA', '-', '']",
            text: "id,name,note\n1,NA,-\n2,\"NA\",\n3,,\"\"\n",
            rows: [["1", nil, nil], ["2", "NA", nil], ["3", nil, ""]]
        ),
        Choice(
            options: "null_text => array['NA']",
            text: "id,name\n1,\n2,NA\n",
            rows: [["1", "", "usual"], ["2", nil, "usual"]]
        ),
        Choice(
            options: "skip => 2",
            text: "a \"comment\n\nid,name\n1,a\n",
            rows: [["1", "a", "usual"]]
        ),
        Choice(
            options: "header => false, columns => array['name', 'id']",
            text: "a,1\nb,2\n",
            rows: [["1", "a", "usual"], ["2", "b", "usual"]]
        ),
        Choice(options: "header => false", text: "1,a,b\n", rows: [["1", "a", "b"]]),
        Choice(
            options: "columns => array['id', 'name']",
            text: "whatever,it says\n1,a\n",
            rows: [["1", "a", "usual"]]
        ),
        Choice(
            options: "map => '{\"Key\": \"id\", \"x\": \"\"}'",
            text: "Key,x,name\n1,2,a\n",
            rows: [["1", "a", "usual"]]
        ),
        Choice(
            options: "batch => 1",
            text: "NAME,Id\r\na,1\r\nb,2",
            rows: [["1", "a", "usual"], ["2", "b", "usual"]]
        ),
    ]

    @Test func anOptionDoesWhatItSays() async throws {
        try await ImportBench.with(Self.table) { bench in
            var jobs: [Int64] = []
            for (number, choice) in Self.choices.enumerated() {
                try await bench.database.run("create table hc.t\(number) (like hc.t including all)")
                jobs.append(
                    try await bench.enqueue("hc.t\(number)", text: choice.text, choice.options)
                )
            }
            try await bench.drain()
            for (number, choice) in Self.choices.enumerated() {
                let job = try await bench.outcome(of: jobs[number])
                #expect(job.state == "completed", "\(choice.options): \(job.error ?? "")")
                let rows = try await bench.rows("select * from hc.t\(number) order by id")
                #expect(rows == choice.rows, "\(choice.options)")
            }
        }
    }

    static let misfits = [
        ("id,nme\n1,a\n", "", "\"nme\""), ("id,id\n1,1\n", "", "\"id\""),
        ("name\na\n", "", "\"id\""),
        ("id,\n1,a\n", "", "column 2 of the file has no name"),
        ("id,name\n", "columns => array['id', 'x']", "\"x\""),
        ("id,name\n", "map => '{\"absent\": \"id\"}'", "\"absent\""),
        ("id,name\n", "map => '{\"name\": \"absent\"}'", "\"absent\""),
    ]

    @Test func columnsThatDoNotFitFailBeforeTheFirstRow() async throws {
        try await ImportBench.with(Self.table) { bench in
            var jobs: [Int64] = []
            for (text, options, _) in Self.misfits {
                jobs.append(try await bench.enqueue("hc.t", text: text, options))
            }
            try await bench.drain()
            for (id, (text, options, says)) in zip(jobs, Self.misfits) {
                let job = try await bench.outcome(of: id)
                #expect(job.state == "discarded", "\(text) \(options)")
                #expect(job.attempt == 1)
                #expect(job.error?.contains(says) == true, "\(job.error ?? "")")
                #expect(job.totals.read == 0)
            }
        }
    }

    static let wrongOptions = [
        "format => 'jsonl', delimiter => ','", "format => 'xml'",
        "format => 'jsonl', header => true", "format => 'jsonl', columns => array['id']",
        "delimiter => ',,'", "delimiter => 'é'",
        "quote => ''",
        "null_text => array[null]::text[]", "skip => -1", "columns => '{}'", "map => '[]'",
        "map => '{\"a\": 1}'", "key => '{}'", "on_conflict => 'merge'", "max_rejects => -1",
        "batch => 0", "batch => 1000001", "timezone => 'Nowhere/At_all'", "date_order => 'dym'",
        "encoding => 'a b'", "max_row_bytes => 0",
        "max_row_bytes => 2000000000", "queue => ''", "max_attempts => 0",
    ]

    @Test func aWrongOptionIsRefusedWhenTheJobIsAdded() async throws {
        try await ImportBench.with(Self.table) { bench in
            for option in Self.wrongOptions {
                let error = try await #require(throws: PostgresError.self, "\(option)") {
                    try await bench.enqueue("hc.t", files: ["in.csv"], option)
                }
                #expect(error.state?.rawValue == "22023", "\(option): \(error)")
            }
            #expect(try await bench.value("select count(*) from bulkhead.job") == "0")
        }
    }

    static let wrongArguments = [
        "\"max_row_bytes\": 0", "\"encoding\": \"a//b\"", "\"encoding\": \"nowhere\"",
        "\"batch\": 0", "\"batch\": -5", "\"skip\": -1", "\"max_rejects\": -1", "\"columns\": []",
        "\"key\": []", "\"unheard_of\": 1", "\"format\": \"jsonl\", \"quote\": \"'\"",
        "\"delimiter\": \",,\"",
        "\"on_conflict\": \"merge\"", "\"files\": []", "\"batch\": \"many\"",
        "\"delimiter\": \"\\\"\"",
        "\"files\": [\"\"]", "\"skip\": 9999999999999999999999",
    ]

    /// `bulkhead.enqueue` takes anything: the daemon refuses it.
    @Test func argumentsThatCameAnotherWayAreRefusedByTheJob() async throws {
        try await ImportBench.with(Self.table) { bench in
            try bench.folder.write("id,name\n1,a\n", to: "in.csv")
            for argument in Self.wrongArguments {
                let files = argument.contains("files") ? "" : ", \"files\": [\"in.csv\"]"
                let args = "{\"table_name\": \"hc.t\"\(files), \(argument)}"
                _ = try await bench.database.value(
                    "select bulkhead.enqueue('import', \(args)::jsonb)"
                )
            }
            try await bench.drain()
            let odd = try await bench.rows(
                """
                select args from bulkhead.job j
                where state <> 'discarded' or attempt <> 1
                    or not exists (select from bulkhead.job_error e where e.job = j.id and e.message <> '')
                """
            )
            #expect(odd == [])
            #expect(try await bench.value("select count(*) from hc.t") == "0")
        }
    }

    @Test func filesOfOneJobMayOrderTheirColumnsDifferently() async throws {
        try await ImportBench.with(Self.table) { bench in
            try bench.folder.write("id,name\n1,a\nx,bad\n2,b\n", to: "one.csv")
            try bench.folder.write("note,name,id\nn,c,3\nn,d,y\n", to: "two.csv")
            try bench.folder.write("id\n4\n", to: "three.csv")
            for (policy, batch) in [("error", 1), ("skip", 1), ("skip", 100), ("error", 100)] {
                let job = try await bench.load(
                    "hc.t",
                    files: ["one.csv", "two.csv", "three.csv"],
                    "max_rejects => 2, on_conflict => '\(policy)', batch => \(batch)"
                )
                #expect(
                    job.totals == ImportTotals(read: 6, inserted: 4, rejected: 2),
                    "\(job.error ?? "")"
                )
                #expect(job.rejects.map(\.file) == ["one.csv", "two.csv"])
                #expect(job.rejects.map(\.value) == ["x", "y"])
                #expect(
                    try await bench.rows("select * from hc.t order by id") == [
                        ["1", "a", "usual"], ["2", "b", "usual"], ["3", "c", "n"],
                        ["4", nil, "usual"],
                    ]
                )
                #expect(
                    try await bench.value("select rows_total from bulkhead.job order by id desc")
                        == "6"
                )
                try await bench.database.run("truncate hc.t")
            }
        }
    }

    @Test func aFileThatIsMissingFailsTheJobBeforeTheFirstRowOfAnother() async throws {
        try await ImportBench.with(Self.table) { bench in
            try bench.folder.write("id\n1\n", to: "one.csv")
            let job = try await bench.load("hc.t", files: ["one.csv", "two.csv"])
            #expect(job.state == "discarded")
            #expect(job.error?.contains("two.csv") == true)
            #expect(try await bench.value("select count(*) from hc.t") == "0")
        }
    }
}
