import Bulkhead
import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

/// The daemon's role needs what the work needs, and no more; what it lacks is said before the first row.
@Suite struct PrivilegeTests {
    static let person = """
        create schema hc;
        create table hc.person (id int primary key, name text, salary int);
        insert into hc.person values (1, 'old', 10);
        """

    private func asRole(
        _ setup: String,
        grants: (String) -> String,
        temporary: Bool = false,
        _ body: (ImportBench, LimitedRole) async throws -> Void
    ) async throws {
        try await ImportBench.with(setup) { bench in
            try await LimitedRole.with(in: bench.database) { role in
                if !temporary {
                    try await bench.database.run(
                        "revoke temporary on database \(bench.database.name) from public"
                    )
                }
                try await bench.database.run(grants(role.name))
                try await body(bench, role)
            }
        }
    }

    private func load(
        _ bench: ImportBench,
        as role: LimitedRole,
        _ table: String,
        _ text: String,
        _ options: String = ""
    ) async throws -> LoadedJob {
        try bench.folder.write(text, to: "in.csv")
        let job = try await bench.enqueue(table, files: ["in.csv"], options)
        try await bench.drain { $0.address = role.address }
        return try await bench.outcome(of: job)
    }

    private func grants(_ role: String) -> String {
        """
        grant usage on schema hc to \(role);
        grant select (id, name), insert (id, name) on hc.person to \(role);
        """
    }

    @Test(arguments: [true, false])
    func skipWorksWithTheKeyAndTheFilledColumnsAlone(temporary: Bool) async throws {
        try await asRole(Self.person, grants: grants, temporary: temporary) { bench, role in
            let job = try await load(
                bench,
                as: role,
                "hc.person",
                "id,name\n1,new\n2,two\n",
                "on_conflict => 'skip'"
            )
            #expect(job.state == "completed", "\(job.error ?? "")")
            #expect(job.totals == ImportTotals(read: 2, inserted: 1, skipped: 1))
            #expect(job.changes == ["[2]"])
            #expect(
                try await bench.rows("select * from hc.person order by id")
                    == [["1", "old", "10"], ["2", "two", nil]]
            )
        }
    }

    @Test(arguments: [1, 2, 3, 1000])
    func rowsThatAreSentAreRefusedLikeRowsThatAreStaged(batch: Int) async throws {
        try await asRole(
            RejectTests.picky,
            grants: {
                "grant usage on schema hc to \($0); grant all on all tables in schema hc to \($0)"
            }
        ) {
            bench,
            role in
            let rows = [
                "1,,,n,1,c1,1,1,,1", "x,,,n,,,,,,", "2,abcd,,n,,,,,,", "3,,,n,,c3,2,,1,",
                "4,,,,,,,,,", "5,,,n,-5,,,,,", "6,,,n,,c1,,,,", "7,,,n,,,99,,,", "8,,,n,,,,99,,",
                "9,,,n,,,,,99,", "12,,3,n,,,,,,", "13,a\tb,,\"q\"\"\\ {},NULL\",,,,,,",
                "14,,,n,,,,,3,",
            ]
            let text = ([RejectTests.header] + rows).joined(separator: "\n")
            let options = "batch => \(batch), max_rejects => 100"
            let sent = try await load(bench, as: role, "hc.picky", text, options)
            let table = try await bench.rows("select * from hc.picky order by id")
            #expect(sent.state == "completed", "\(sent.error ?? "")")
            #expect(sent.totals == ImportTotals(read: 13, inserted: 4, rejected: 9))
            try await bench.database.run("truncate hc.picky")
            let staged = try await bench.load("hc.picky", text, options)
            #expect(try await bench.rows("select * from hc.picky order by id") == table)
            #expect(staged.rejects.map(\.line) == sent.rejects.map(\.line))
            #expect(staged.rejects.map(\.sqlstate) == sent.rejects.map(\.sqlstate))
            // A text is found too long only where it is stored, and that error names no column.
            #expect(
                staged.rejects.filter { $0.sqlstate != "22001" }.map(\.column)
                    == sent.rejects.filter { $0.sqlstate != "22001" }.map(\.column)
            )
            #expect(try staged.ids == sent.ids)
        }
    }

    @Test func everyTypeIsReadAsTheTableReadsItWhenRowsAreSent() async throws {
        let table = """
            create schema hc;
            create type hc.colour as enum ('red', 'dark "blue"');
            create type hc.pair as (a int, b text);
            create domain hc.code as varchar(3);
            create table hc.t (
                id int primary key, numbers int[], words varchar(5)[], colour hc.colour, pair hc.pair,
                code hc.code, box box, fixed char(4), bits bit(3), range int4range, doc jsonb,
                bytes bytea, amount numeric(6, 2), at timestamptz, short varchar(3), tree xml
            );
            """
        let text = #"""
            id,numbers,words,colour,pair,code,box,fixed,bits,range,doc,bytes,amount,at,short
            1,"{{1,2},{3,4}}","{a,""b,c""}","dark ""blue""","(1,""x,y"")",abc,"(1,1),(0,0)",ab,101,"[1,5)","{""a"": ""\\""}",\\x00ff,12.345,2025-01-02 03:04:05+02,abc
            2,{},,red,,,,,,empty,null,,NaN,infinity,
            3,,,,,abcd,,,,,,,,,
            4,,"{toolong}",,,,,,,,,,,,
            5,,,,,,,,,,,,,,abcd
            6,,,,,,,,10,,,,,,
            7,,,,,,,abcde,,,,,,,
            """#
        try await asRole(
            table,
            grants: { "grant usage on schema hc to \($0); grant all on hc.t to \($0)" }
        ) {
            bench,
            role in
            let query = "select t::text from hc.t order by id"
            let options = "max_rejects => 10, on_conflict => 'skip'"
            let sent = try await load(bench, as: role, "hc.t", text, options)
            let seen = try await bench.rows(query)
            try await bench.database.run("truncate hc.t")
            let staged = try await bench.load("hc.t", text, options)
            #expect(
                sent.totals == ImportTotals(read: 7, inserted: 2, rejected: 5),
                "\(sent.error ?? "")"
            )
            #expect(staged.totals == sent.totals, "\(staged.error ?? "")")
            #expect(try await bench.rows(query) == seen)
            #expect(staged.rejects.map(\.line) == sent.rejects.map(\.line))
        }
    }

    @Test func aColumnThatMayNotBeFilledIsNamedAndNotTriedAgain() async throws {
        try await asRole(Self.person, grants: grants) { bench, role in
            let job = try await load(bench, as: role, "hc.person", "id,salary\n2,5\n")
            #expect(job.state == "discarded")
            #expect(job.attempt == 1)
            #expect(job.sqlstate == "42501")
            #expect(job.error?.contains("column salary of hc.person") == true, "\(job.error ?? "")")
            #expect(try await bench.value("select count(*) from hc.person") == "1")
        }
    }

    @Test func aTableWithoutAnyPrivilegeIsRefusedOnce() async throws {
        try await asRole(Self.person, grants: { "grant usage on schema hc to \($0)" }) {
            bench,
            role in
            let job = try await load(bench, as: role, "hc.person", "id,name\n2,two\n")
            #expect(job.state == "discarded")
            #expect(job.attempt == 1)
            #expect(job.sqlstate == "42501")
        }
    }

    @Test func skipNeedsToReadTheKeyAndSaysSo() async throws {
        try await asRole(
            Self.person,
            grants: { "grant usage on schema hc to \($0); grant insert on hc.person to \($0)" }
        ) { bench, role in
            let job = try await load(
                bench,
                as: role,
                "hc.person",
                "id,name\n2,two\n",
                "on_conflict => 'skip'"
            )
            #expect(job.state == "discarded")
            #expect(job.error?.contains("may not read column id") == true, "\(job.error ?? "")")
        }
    }

    /// The server hands back no key, so readers are told to read the table again.
    @Test func insertAloneIsEnoughForTheErrorPolicy() async throws {
        try await asRole(
            Self.person,
            grants: { "grant usage on schema hc to \($0); grant insert on hc.person to \($0)" }
        ) { bench, role in
            let job = try await load(
                bench,
                as: role,
                "hc.person",
                "id,name\n2,two\nx,y\n3,three\n",
                "max_rejects => 1"
            )
            #expect(job.state == "completed", "\(job.error ?? "")")
            #expect(job.totals == ImportTotals(read: 3, inserted: 2, rejected: 1))
            #expect(job.changes == ["null"])
        }
    }

    @Test func aSequenceThatMayNotBeMovedIsNamed() async throws {
        let table = "create schema hc; create table hc.s (id serial primary key, name text);"
        let grants = { (role: String) in
            "grant usage on schema hc to \(role); grant all on hc.s to \(role)"
        }
        try await asRole(table, grants: grants) { bench, role in
            let job = try await load(bench, as: role, "hc.s", "id,name\n7,a\n")
            #expect(job.state == "discarded")
            #expect(job.error?.contains("hc.s_id_seq") == true, "\(job.error ?? "")")
            try await bench.database.run("grant usage, update on hc.s_id_seq to \(role.name)")
            let second = try await load(bench, as: role, "hc.s", "id,name\n7,a\n")
            #expect(second.state == "completed", "\(second.error ?? "")")
            #expect(try await bench.value("select nextval('hc.s_id_seq')") == "8")
        }
    }

    @Test func rowsThatRowSecurityKeepsOutAreRejects() async throws {
        let table = """
            create schema hc;
            create table hc.own (id int primary key, name text);
            alter table hc.own enable row level security;
            create policy mine on hc.own using (true) with check (name <> 'theirs');
            """
        let grants = { (role: String) in
            "grant usage on schema hc to \(role); grant all on hc.own to \(role)"
        }
        try await asRole(table, grants: grants, temporary: true) { bench, role in
            let job = try await load(
                bench,
                as: role,
                "hc.own",
                "id,name\n1,mine\n2,theirs\n3,mine\n",
                "max_rejects => 1"
            )
            #expect(
                job.totals == ImportTotals(read: 3, inserted: 2, rejected: 1),
                "\(job.error ?? "")"
            )
            #expect(job.rejects.map(\.line) == [3])
            #expect(job.rejects.map(\.sqlstate) == ["42501"])
        }
    }

    @Test(arguments: ["ISO, DMY", "ISO, MDY"])
    func datesAreReadAlikeWhateverTheRoleIsSetTo(style: String) async throws {
        let table = "create schema hc; create table hc.ev (id int primary key, d date);"
        let grants = { (role: String) in
            """
            grant usage on schema hc to \(role); grant all on hc.ev to \(role);
            alter role \(role) set datestyle = '\(style)';
            """
        }
        try await asRole(table, grants: grants) { bench, role in
            let text = "id,d\n1,03/04/2025\n2,13/04/2025\n3,2025-04-03\n"
            let job = try await load(bench, as: role, "hc.ev", text, "max_rejects => 2")
            #expect(job.totals == ImportTotals(read: 3, inserted: 1, rejected: 2))
            #expect(job.rejects.map(\.line) == [2, 3])
            #expect(try await bench.rows("select * from hc.ev") == [["3", "2025-04-03"]])
            let strict = try await load(bench, as: role, "hc.ev", text, "batch => 1")
            #expect(strict.state == "discarded")
            #expect(strict.position == "in.csv line 2")
        }
    }

    @Test func linesThatLeaveASequenceAloneNeedNoRightToMoveIt() async throws {
        let setup = "create schema hc; create table hc.t (id serial primary key, v int);"
        let grants = { (role: String) in
            """
            grant usage on schema hc to \(role); grant select, insert, update on hc.t to \(role);
            grant usage on sequence hc.t_id_seq to \(role);
            """
        }
        try await asRole(setup, grants: grants, temporary: true) { bench, role in
            let text = "{\"v\":1}\n{\"id\":7,\"v\":2}\n{\"v\":3}\n"
            let options = "format => 'jsonl', max_rejects => 1"
            let job = try await load(bench, as: role, "hc.t", text, options)
            #expect(
                job.totals == ImportTotals(read: 3, inserted: 2, rejected: 1),
                "\(job.error ?? "")"
            )
            #expect(job.rejects.map(\.line) == [2])
            let update = options + ", on_conflict => 'update'"
            let keyed = try await load(bench, as: role, "hc.t", text, update)
            #expect(keyed.sqlstate == "42501", "\(keyed.error ?? "")")
        }
    }

    @Test func aZoneOfItsOwnNeedsATemporaryTable() async throws {
        let setup = "create schema hc; create table hc.t (id int primary key, at timestamptz);"
        let grants = { (role: String) in
            "grant usage on schema hc to \(role); grant select, insert, update on hc.t to \(role)"
        }
        try await asRole(setup, grants: grants) { bench, role in
            let text = "id,at\n1,2024-07-01 12:00\n"
            let options = "timezone => 'America/New_York'"
            let merged = try await load(
                bench,
                as: role,
                "hc.t",
                text,
                options + ", on_conflict => 'update'"
            )
            #expect(merged.sqlstate == "42501")
            #expect(merged.error?.contains("temporary") == true, "\(merged.error ?? "")")
            // Copied straight into the table, nothing else is read.
            let direct = try await load(bench, as: role, "hc.t", text, options)
            #expect(direct.totals == ImportTotals(read: 1, inserted: 1), "\(direct.error ?? "")")
            let stored = try await bench.value("select at at time zone 'UTC' from hc.t")
            #expect(stored == "2024-07-01 16:00:00")
        }
    }
}
