import BulkheadTesting
import Foundation
import Postgres
import Testing

@testable import BulkheadJobs

/// Files that broke other importers, from the file to the table.
@Suite struct ImportCaseTests {
    static let person = "create schema hc; create table hc.person (id int primary key, name text);"
    static let show = "select id, quote_nullable(name) from hc.person order by id"

    private func printed(_ bench: ImportBench, _ query: String = show) async throws -> String {
        try await bench.rows(query).map { row in
            row.map { $0 ?? "" }.joined(separator: "|") + "\n"
        }.joined()
    }

    @Test func aByteOrderMarkBelongsToNoNameAndNoValue() async throws {
        try await ImportBench.with(Self.person) { bench in
            for (file, options, expected) in [
                ("in.csv", "", try CaseFiles.text("FC-050/expected.txt")),
                ("quoted-header.csv", "", try CaseFiles.text("FC-050/expected.txt")),
                ("headerless.csv", "header => false", "7|'seven'\n8|'eight'\n"),
            ] {
                try bench.copyCase("FC-050/\(file)")
                let job = try await bench.load("hc.person", files: [file], options)
                #expect(job.state == "completed", "\(file): \(job.error ?? "")")
                #expect(try await printed(bench) == expected)
                try await bench.database.run("truncate hc.person")
            }
            try bench.copyCase("FC-050/bom-inside.csv")
            _ = try await bench.load("hc.person", files: ["bom-inside.csv"])
            #expect(try await bench.value("select octet_length(name) from hc.person where id = 1") == "7")
        }
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let file: String
        let lines: [Int]
        let raw: [String]
        let expected: String
        var setup = ImportCaseTests.person
        var query = ImportCaseTests.show
        var testDescription: String { file }
    }

    static let cases = [
        Case(
            file: "FC-052/in.csv",
            lines: [7],
            raw: ["not-a-number,broken"],
            expected: "FC-052/expected-skip-bad.txt"
        ),
        Case(
            file: "FC-058/in.csv",
            lines: [3],
            raw: ["2,be\\000fore"],
            expected: "FC-058/expected-skip-bad.txt"
        ),
        Case(
            file: "FC-060/in.csv",
            lines: [3, 4],
            raw: [],
            expected: "FC-060/expected-skip-bad.txt",
            setup: """
                create schema hc;
                create table hc.person (
                    id int primary key, name text, city text default 'unset');
                """,
            query: "select id, quote_nullable(name), quote_nullable(city) from hc.person order by id"
        ),
    ]

    @Test(arguments: cases, [1, 2, 1000])
    func badRowsAreRejectedWithTheirLineAndBytes(_ each: Case, batch: Int) async throws {
        try await ImportBench.with(each.setup) { bench in
            try bench.copyCase(each.file)
            let strict = try await bench.load("hc.person", files: ["in.csv"], "batch => 1000")
            #expect(strict.state == "discarded")
            #expect(strict.position == "in.csv line \(each.lines[0])")
            #expect(try await printed(bench, each.query) == "")
            let job = try await bench.load(
                "hc.person",
                files: ["in.csv"],
                "batch => \(batch), max_rejects => \(each.lines.count)"
            )
            #expect(job.state == "completed", "\(job.error ?? "")")
            #expect(job.rejects.map(\.line) == each.lines)
            if !each.raw.isEmpty { #expect(job.rejects.map(\.raw) == each.raw) }
            #expect(try await printed(bench, each.query) == CaseFiles.text(each.expected))
        }
    }

    @Test func aQuoteThatStaysOpenFailsWhateverIsAllowed() async throws {
        try await ImportBench.with(Self.person) { bench in
            try bench.copyCase("FC-054/in.csv")
            let job = try await bench.load(
                "hc.person",
                files: ["in.csv"],
                "batch => 2, max_rejects => 100"
            )
            #expect(job.state == "discarded")
            #expect(job.error?.contains("line 4") == true, "\(job.error ?? "")")
            #expect(job.position == "in.csv line 4")
            #expect(try await printed(bench) == CaseFiles.text("FC-054/expected-prefix.txt"))
        }
    }

    @Test(arguments: [
        ("", "expected-default.txt"),
        ("null_text => array['NULL']", "expected-null-marker-NULL.txt"),
    ])
    func onlyUnquotedMarkersAreNull(options: String, expected: String) async throws {
        try await ImportBench.with(Self.person) { bench in
            try bench.copyCase("FC-056/in.csv")
            let job = try await bench.load("hc.person", files: ["in.csv"], options)
            #expect(job.state == "completed", "\(job.error ?? "")")
            #expect(try await printed(bench) == CaseFiles.text("FC-056/\(expected)"))
        }
    }

    @Test func filesWithNothingInThemEndOneWayOrTheOther() async throws {
        try await ImportBench.with(Self.person) { bench in
            for (file, options, state, rows) in [
                ("header-only.csv", "", "completed", 0), ("header-no-eol.csv", "", "completed", 0),
                ("zero-bytes.csv", "", "discarded", 0), ("only-bom.csv", "", "discarded", 0),
                ("zero-bytes.csv", "columns => array['id'], header => false", "completed", 0),
                ("only-bom.csv", "columns => array['id'], header => false", "completed", 0),
                ("blank-lines.csv", "", "completed", 0), ("last-row-no-eol.csv", "", "completed", 2),
            ] {
                try bench.copyCase("FC-062/\(file)")
                let job = try await bench.load("hc.person", files: [file], options)
                #expect(job.state == state, "\(file): \(job.error ?? "")")
                #expect(job.totals == ImportTotals(read: Int64(rows), inserted: Int64(rows)), "\(file)")
                if state == "completed" {
                    #expect(
                        try await bench.value(
                            "select percent from bulkhead.job_status where id = \(job.id)"
                        ) == "100"
                    )
                }
            }
        }
    }

    @Test func blanksAreDataAndTextBehindAQuoteIsNot() async throws {
        try await ImportBench.with(Self.person) { bench in
            try bench.copyCase("FC-064/spaces.csv")
            _ = try await bench.load("hc.person", files: ["spaces.csv"])
            #expect(try await printed(bench) == CaseFiles.text("FC-064/expected-spaces.txt"))
            try await bench.database.run("truncate hc.person")
            try bench.copyCase("FC-064/after-quote.csv")
            let after = try await bench.load("hc.person", files: ["after-quote.csv"], "max_rejects => 1")
            #expect(after.rejects.map(\.line) == [2])
            try await bench.database.run("truncate hc.person")
            try bench.copyCase("FC-064/before-quote.csv")
            _ = try await bench.load("hc.person", files: ["before-quote.csv"], "max_rejects => 1")
            #expect(try await bench.value("select name from hc.person where id = 1") != " abc")
        }
    }

    @Test(arguments: [
        ("full", "completed", 300), ("cut-in-data", "discarded", nil), ("cut-trailer", "discarded", nil),
        ("bad-crc", "discarded", nil), ("not-gzip", "discarded", 0), ("empty", "discarded", 0),
    ])
    func compressedFilesAreWholeOrFail(name: String, state: String, rows: Int?) async throws {
        try await ImportBench.with(Self.person) { bench in
            try bench.copyCase("FC-075/\(name).csv.gz")
            let job = try await bench.load("hc.person", files: ["\(name).csv.gz"], "batch => 50")
            #expect(job.state == state, "\(job.error ?? "")")
            let count = try await bench.value("select count(*) from hc.person")
            #expect(count == "\(job.totals.inserted)")
            if let rows { #expect(job.totals.inserted == rows) }
        }
    }

    @Test func aTriggerThatDropsOrRenamesRowsIsBelieved() async throws {
        let setup =
            Self.person + """
                create function hc.bi() returns trigger language plpgsql as $f$ begin
                  if new.name='skip' then return null; end if;
                  if new.name='rename' then new.id := 400; end if; return new; end $f$;
                create trigger t before insert on hc.person for each row execute function hc.bi();
                """
        try await ImportBench.with(setup) { bench in
            let job = try await bench.load(
                "hc.person",
                "id,name\n1,one\n2,skip\n3,three\n4,rename\n"
            )
            #expect(job.state == "completed")
            #expect(job.totals == ImportTotals(read: 4, inserted: 3, skipped: 1))
            #expect(try job.ids == ["1", "3", "400"])
            #expect(try await printed(bench) == "1|'one'\n3|'three'\n400|'rename'\n")
        }
    }

    @Test func aDeferredConstraintIsCheckedBeforeABatchCounts() async throws {
        let setup = """
            create schema hc;
            create table hc.node (
                id int primary key,
                parent_id int references hc.node (id) deferrable initially deferred);
            """
        let text = "id,parent_id\n2,1\n1,\n3,99\n4,3\n"
        try await ImportBench.with(setup) { bench in
            let strict = try await bench.load("hc.node", text)
            #expect(strict.state == "discarded")
            #expect(strict.position == "in.csv line 4")
            #expect(strict.changes == [])
            #expect(try await bench.value("select checkpoint from bulkhead.job") == nil)
            #expect(try await bench.value("select count(*) from hc.node") == "0")
            let job = try await bench.load("hc.node", text, "max_rejects => 2")
            #expect(job.totals == ImportTotals(read: 4, inserted: 2, rejected: 2), "\(job.error ?? "")")
            #expect(job.rejects.map(\.line) == [4, 5])
            #expect(job.rejects.map(\.column) == ["parent_id", "parent_id"])
            #expect(try job.ids == ["1", "2"])
        }
    }

    @Test(arguments: [1, 2, 3, 1000])
    func theFeedAloneTellsCompositeKeysApart(batch: Int) async throws {
        let setup = "create schema hc; create table hc.ck (a text, b text, name text, primary key (a, b));"
        let text = #"""
            a,b,name
            1,x,one
            1,"x,y",comma
            "1,x",y,comma-left
            "q""uote",b,quote
            "new
            line",b,newline
            ,empty-a,empty
            😀,é,wide
            " lead",b,space
            {1},b,brace
            null,b,word
            "back\slash",b,bs
            """#
        try await ImportBench.with(setup) { bench in
            for policy in ["error", "skip"] {
                let job = try await bench.load(
                    "hc.ck",
                    text,
                    "batch => \(batch), null_text => array['none'], on_conflict => '\(policy)'"
                )
                #expect(job.state == "completed", "\(job.error ?? "")")
                let missing = try await bench.rows(
                    """
                    with feed as (
                        select k ->> 0 as a, k ->> 1 as b
                        from bulkhead.change c, jsonb_array_elements(c.ids) k where c.job = \(job.id))
                    (table feed except all select a, b from hc.ck)
                    union all (select a, b from hc.ck except all table feed)
                    """
                )
                #expect(missing == [])
                #expect(try await bench.value("select count(*) from hc.ck") == "11")
                try await bench.database.run("truncate hc.ck")
            }
        }
    }
}
