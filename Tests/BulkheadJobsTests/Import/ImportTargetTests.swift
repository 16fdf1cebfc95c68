import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

/// Tables of every sort and name: filled, or refused with a reason before the first row.
@Suite struct ImportTargetTests {
    static let names = [
        "t1", "T2 \"quoted\"", "select", "späße", "with space", "1digit", "semi;colon",
        "back\\slash",
        "bulkhead_stage_a",
    ]

    @Test func anyNameOfTableAndColumnsWillDo() async throws {
        try await ImportBench.with("create schema \"S 1\"") { bench in
            var jobs: [Int64] = []
            for name in Self.names {
                let name = quoted(identifier: name)
                let table = "\"S 1\".\(name)"
                try await bench.database.run(
                    "create table \(table) (\(name) int primary key, \"order\" text, \"A b\" text)"
                )
                jobs.append(
                    try await bench.enqueue(
                        table,
                        text: "\(name),order,A b\n1,a,b\nx,c,d\n2,e,f\n",
                        "max_rejects => 1"
                    )
                )
            }
            try await bench.drain()
            for (name, id) in zip(Self.names, jobs) {
                let job = try await bench.outcome(of: id)
                let table = "\"S 1\".\(quoted(identifier: name))"
                #expect(
                    job.totals == ImportTotals(read: 3, inserted: 2, rejected: 1),
                    "\(name): \(job.error ?? "")"
                )
                #expect(job.rejects.map(\.column) == [name])
                let stored = try await bench.value("select string_agg(\"A b\", ',') from \(table)")
                #expect(stored == "b,f")
                let relation = try #require(job.relations.first)
                #expect(
                    try await bench.database.value(
                        "select \(relation)::regclass = \(table)::regclass"
                    ) == "t"
                )
            }
        }
    }

    @Test func theCallersSearchPathDecidesBetweenTablesOfOneName() async throws {
        let setup = """
            create schema one; create schema two;
            create table one.t (id int primary key); create table two.t (id int primary key);
            """
        try await ImportBench.with(setup) { bench in
            try bench.folder.write("id\n1\n", to: "in.csv")
            try await bench.database.run(
                "set search_path = two, one; select bulkhead.import('t', 'in.csv')"
            )
            try await bench.drain()
            #expect(try await bench.value("select count(*) from two.t") == "1")
            #expect(try await bench.value("select count(*) from one.t") == "0")
        }
    }

    @Test(arguments: ["error", "skip"])
    func partitionedTablesAreFilledAndTheFeedNamesTheRoot(policy: String) async throws {
        let setup = """
            create schema hc;
            create table hc.root (id int, part int, name text, primary key (id, part))
                partition by list (part);
            create table hc.p1 partition of hc.root for values in (1);
            create table hc.p2 partition of hc.root for values in (2) partition by range (id);
            create table hc.p2a partition of hc.p2 for values from (0) to (100);
            """
        try await ImportBench.with(setup) { bench in
            let text = "id,part,name\n1,1,a\n2,2,b\n3,3,nowhere\n200,2,nowhere\n4,1,c\n"
            let job = try await bench.load(
                "hc.root",
                text,
                "on_conflict => '\(policy)', max_rejects => 2"
            )
            #expect(
                job.totals == ImportTotals(read: 5, inserted: 3, rejected: 2),
                "\(job.error ?? "")"
            )
            #expect(job.rejects.map(\.line) == [4, 5])
            #expect(Set(job.relations) == ["hc.root"])
            #expect(try job.ids == ["[1,1]", "[2,2]", "[4,1]"])
            let into = try await bench.load("hc.p1", "id,part\n7,1\n8,2\n", "max_rejects => 1")
            #expect(
                into.totals == ImportTotals(read: 2, inserted: 1, rejected: 1),
                "\(into.error ?? "")"
            )
            #expect(into.relations == ["hc.root"])
            let again = try await bench.load(
                "hc.root",
                "id,part,name\n9,1,x\n2,2,b\n",
                "max_rejects => 9"
            )
            #expect(again.sqlstate == "23505")
            #expect(again.position == "in.csv line 3")
        }
    }

    static let undurable = [
        ("create view hc.NAME as select 1 as id", "INSTEAD OF INSERT trigger"),
        ("create materialized view hc.NAME as select 1 as id", "is not a table"),
        ("create sequence hc.NAME", "is not a table"),
        ("create unlogged table hc.NAME (id int)", "unlogged"),
        (
            """
            create table hc.NAME (id int) partition by list (id);
            create unlogged table hc.NAME1 partition of hc.NAME for values in (1)
            """, "unlogged"
        ),
        (
            """
            create extension file_fdw; create server files foreign data wrapper file_fdw;
            create foreign table hc.NAME (id int) server files options (filename '/dev/null')
            """, "is not a table"
        ),
    ]

    @Test func whatIsNoDurableTableIsRefused() async throws {
        try await ImportBench.with("create schema hc") { bench in
            try bench.folder.write("id\n1\n", to: "in.csv")
            for (number, (setup, _)) in Self.undurable.enumerated() {
                try await bench.database.run(setup.replacing("NAME", with: "x\(number)x"))
                // What the caller is not told at once, the job is told.
                let args = "{\"table_name\": \"hc.x\(number)x\", \"files\": [\"in.csv\"]}"
                _ = try await bench.database.value(
                    "select bulkhead.enqueue('import', \(args)::jsonb)"
                )
            }
            try await bench.drain()
            for (number, (setup, says)) in Self.undurable.enumerated() {
                let job = try await bench.outcome(of: Int64(number + 1))
                #expect(job.state == "discarded", "\(setup)")
                #expect(job.error?.contains(says) == true, "\(job.error ?? "")")
            }
        }
    }

    @Test func aTableThatIsGoneFailsTheJob() async throws {
        try await ImportBench.with("create schema hc; create table hc.x (id int);") { bench in
            try bench.folder.write("id\n1\n", to: "in.csv")
            let job = try await bench.enqueue("hc.x", files: ["in.csv"])
            try await bench.database.run("drop table hc.x")
            try await bench.drain()
            let ended = try await bench.outcome(of: job)
            #expect(ended.state == "discarded")
            #expect(ended.error == "there is no table hc.x")
        }
    }

    @Test func rulesAreObeyedAndTheReaderIsToldToReadAgain() async throws {
        let setup = """
            create schema hc;
            create table hc.ruled (id int primary key, n int check (n <> 5));
            create rule drop_negative as on insert to hc.ruled where new.n < 0 do instead nothing;
            """
        try await ImportBench.with(setup) { bench in
            let job = try await bench.load(
                "hc.ruled",
                "id,n\n1,1\n2,-1\n3,5\n4,1\n",
                "max_rejects => 1"
            )
            #expect(
                job.totals == ImportTotals(read: 4, inserted: 2, skipped: 1, rejected: 1),
                "\(job.error ?? "")"
            )
            #expect(job.changes == ["null"])
            let skip = try await bench.load("hc.ruled", "id,n\n9,1\n", "on_conflict => 'skip'")
            #expect(skip.state == "discarded")
            #expect(skip.error?.contains("rules") == true, "\(skip.error ?? "")")
        }
    }

    @Test func aTableThatIsReferredToThroughAnotherEqualityKeepsItsRows() async throws {
        let setup = """
            create schema ext; create extension citext schema ext; create schema hc;
            create table hc.parent (code ext.citext primary key);
            create table hc.child (id int primary key, code ext.citext references hc.parent);
            create table hc.heir () inherits (hc.parent);
            insert into hc.parent values ('abc'); insert into hc.heir values ('inherited');
            """
        try await ImportBench.with(setup) { bench in
            let job = try await bench.load(
                "hc.child",
                "id,code\n1,ABC\n2,zzz\n3,inherited\n4,\n",
                "max_rejects => 2"
            )
            #expect(
                job.totals == ImportTotals(read: 4, inserted: 2, rejected: 2),
                "\(job.error ?? "")"
            )
            #expect(job.rejects.map(\.line) == [3, 4])
            #expect(job.rejects.map(\.column) == ["code", "code"])
        }
    }
}
