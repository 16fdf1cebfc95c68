import Bulkhead
import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

/// JSON lines, from the file to the table.
@Suite struct ImportJSONTests {
    static let table = """
        create schema hc;
        create domain hc.doc as jsonb;
        create table hc.t (
            id bigint primary key, name text, amount numeric, doc hc.doc, raw json, ok boolean,
            numbers int[], words text[], docs jsonb[], boxes box[],
            twice bigint generated always as (id * 2) stored);
        """

    private func load(_ bench: ImportBench, _ text: String, _ options: String = "") async throws
        -> LoadedJob
    {
        try bench.folder.write(text, to: "in.jsonl")
        return try await bench.load("hc.t", files: ["in.jsonl"], options)
    }

    static let all = #"""
        {"id":9007199254740993,"name":"é\n\"\\N","amount":1.10,"doc":{"b":1,"a":[1,{"c":null}]},"raw":{"b": 1, "a": "\u00e9"},"ok":true,"numbers":[1,null,-3],"words":["a,b","NULL",null,"\"\\"],"docs":[{"a":[1]},"x",null],"boxes":["(1,1),(0,0)","(2,2),(1,1)"]}
        {"amount":"6.50","id":2,"doc":"text","raw":"text","ok":"yes","name":7.00,"numbers":[[1,2],[3,4]],"words":[],"docs":[],"boxes":null}

        {"ID":3,"NAME":null,"amount":null,"doc":null,"raw":[ 1, 2 ],"ok":null,"numbers":"{5}","words":null,"docs":null,"boxes":[]}
        """#

    @Test func everyKindOfValueArrives() async throws {
        try await ImportBench.with(Self.table) { bench in
            for (policy, batch) in [("error", 1000), ("skip", 1), ("error", 1)] {
                let job = try await load(
                    bench,
                    Self.all,
                    "on_conflict => '\(policy)', batch => \(batch)"
                )
                #expect(job.state == "completed", "\(job.error ?? "")")
                #expect(job.totals == ImportTotals(read: 3, inserted: 3))
                #expect(try job.ids == ["\"2\"", "\"3\"", "\"9007199254740993\""])
                let rows = try await bench.rows("select * from hc.t order by id desc")
                #expect(
                    rows == [
                        [
                            "9007199254740993", "é\n\"\\N", "1.10",
                            #"{"a": [1, {"c": null}], "b": 1}"#, #"{"b": 1, "a": "\u00e9"}"#, "t",
                            "{1,NULL,-3}", #"{"a,b","NULL",NULL,"\"\\"}"#,
                            #"{"{\"a\": [1]}","\"x\"",NULL}"#, "{(1,1),(0,0);(2,2),(1,1)}",
                            "18014398509481986",
                        ],
                        ["3", nil, nil, nil, "[ 1, 2 ]", nil, "{5}", nil, nil, "{}", "6"],
                        [
                            "2", "7.00", "6.50", "\"text\"", "\"text\"", "t", "{{1,2},{3,4}}", "{}",
                            "{}", nil, "4",
                        ],
                    ]
                )
                try await bench.database.run("truncate hc.t")
            }
        }
    }

    @Test func aLineThatIsNoRowIsRejectedWithItsPlace() async throws {
        try await ImportBench.with(Self.table) { bench in
            let text = #"""
                {"id":1}
                {"id":2,"twice":4}
                {"id":3,"name":{}}
                {"id":4,"numbers":[[1],[2,3]]}
                {"id":"x"}
                {"id":null}
                {"name":"a\u0000"}
                {"id":8}
                """#
            for batch in [1, 3, 1000] {
                let job = try await load(bench, text, "max_rejects => 6, batch => \(batch)")
                #expect(job.state == "completed", "\(job.error ?? "")")
                #expect(job.totals == ImportTotals(read: 8, inserted: 2, rejected: 6))
                #expect(job.rejects.map(\.line) == [2, 3, 4, 5, 6, 7])
                #expect(
                    job.rejects.map(\.column) == ["twice", "name", "numbers", "id", "id", "name"]
                )
                #expect(
                    job.rejects.map(\.value) == ["4", "{}", "{{1},{2,3}}", "x", nil, nil]
                )
                #expect(job.rejects[0].message.contains("is generated from other columns"))
                #expect(job.rejects[0].raw == #"{"id":2,"twice":4}"#)
                #expect(job.rejects[0].offset == 9)
                try await bench.database.run("truncate hc.t")
            }
        }
    }

    @Test func aCaseOfNumbersAndKeys() async throws {
        let setup = """
            create schema hc;
            create table hc.rec (
                id bigint primary key, amount numeric, doc jsonb, note text default 'dflt');
            """
        try await ImportBench.with(setup) { bench in
            try bench.copyCase("FC-078/in.jsonl")
            let job = try await bench.load("hc.rec", files: ["in.jsonl"], "max_rejects => 9")
            #expect(job.rejects.map(\.line) == [3, 6, 7, 8])
            #expect(job.rejects.map(\.sqlstate) == ["22P04", "22003", "22P02", "22030"])
            let rows = try await bench.rows(
                """
                select id, amount, doc, quote_nullable(doc::text), quote_nullable(note)
                from hc.rec order by id
                """
            )
            let printed = rows.map { $0.map { $0 ?? "" }.joined(separator: "|") + "\n" }.joined()
            #expect(try printed == CaseFiles.text("FC-078/expected-strict.txt"))
        }
    }

    @Test(arguments: ["in.jsonl", "in.NDJSON"])
    func aFileWithNothingInItCompletes(name: String) async throws {
        try await ImportBench.with(Self.table) { bench in
            for text in ["", "\u{FEFF}", "\n\r\n"] {
                try bench.folder.write(text, to: name)
                let job = try await bench.load("hc.t", files: [name])
                #expect(job.state == "completed", "\(job.error ?? "")")
                #expect(job.totals == ImportTotals())
            }
        }
    }

    @Test func optionsApply() async throws {
        try await ImportBench.with(Self.table) { bench in
            let text = "a comment\n{ no object\n{\"key\":1,\"x\":[{}],\"Name\":\"a\"}\n"
            let job = try await load(
                bench,
                text,
                "skip => 2, map => '{\"key\": \"id\", \"x\": \"\"}'"
            )
            #expect(job.state == "completed", "\(job.error ?? "")")
            #expect(try await bench.rows("select id, name from hc.t") == [["1", "a"]])
            let again = try await load(
                bench,
                "{\"id\":1}\n{\"id\":2}\n",
                "on_conflict => 'skip', key => array['id']"
            )
            #expect(again.totals == ImportTotals(read: 2, inserted: 1, skipped: 1))
            let wrong = try await load(bench, text, "map => '{\"key\": \"absent\"}'")
            #expect(wrong.state == "discarded")
            #expect(wrong.error?.contains("absent") == true)
        }
    }

    @Test func aColumnThatTheRoleMayNotFillIsNoKey() async throws {
        try await ImportBench.with(Self.table) { bench in
            try await LimitedRole.with(in: bench.database) { role in
                try await bench.database.run(
                    """
                    grant usage on schema hc to \(role.name);
                    grant insert (id, name), select (id) on hc.t to \(role.name)
                    """
                )
                try bench.folder.write("{\"id\":1,\"name\":\"a\"}\n{\"ok\":true}\n", to: "in.jsonl")
                let id = try await bench.enqueue("hc.t", files: ["in.jsonl"], "max_rejects => 1")
                try await bench.drain { $0.address = role.address }
                let job = try await bench.outcome(of: id)
                #expect(job.totals == ImportTotals(read: 2, inserted: 1, rejected: 1))
                #expect(job.rejects.map(\.column) == ["ok"])
                #expect(job.rejects.first?.message.contains("may not insert") == true)
            }
        }
    }

    @Test func namesOfSeveralFormatsMustSayWhichOneIsMeant() async throws {
        try await ImportBench.with(Self.table) { bench in
            for (files, options) in [
                (["a.csv", "b.jsonl"], ""), (["a.tsv", "b"], ""), (["a.ndjson"], "quote => ''''"),
                (["a.jsonl.gz"], "null_text => array['x']"), (["a.jsonl"], "header => false"),
            ] {
                let error = try await #require(throws: PostgresError.self, "\(files)") {
                    try await bench.enqueue("hc.t", files: files, options)
                }
                #expect(error.state?.rawValue == "22023", "\(error)")
            }
            _ = try await bench.enqueue("hc.t", files: ["a.csv", "b.jsonl"], "format => 'csv'")
            for (file, format) in [("a.JSONL.gz", "jsonl"), ("a.tsv", "tsv"), ("a.txt", nil)] {
                let job = try await bench.enqueue("hc.t", files: [file])
                let args = try await bench.value(
                    "select args ->> 'format' from bulkhead.job where id = \(job)"
                )
                #expect(args == format)
            }
        }
    }
}
