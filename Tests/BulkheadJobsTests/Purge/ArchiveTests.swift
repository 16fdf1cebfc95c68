import Bulkhead
import BulkheadTesting
import Foundation
import Postgres
import Testing

@testable import BulkheadJobs

/// What a purge writes into its archive, and what hinders it.
@Suite struct ArchiveTests {
    private static let items = """
        create schema hc;
        create table hc.item (id int primary key, kind text);
        insert into hc.item select g, 'k' || g % 2 from generate_series(1, 100) g;
        """

    @Test func anArchiveTableIsMadeWhereItIsMissing() async throws {
        try await PurgeBench.with(Self.items) { bench in
            let before = try await bench.rows("select id, kind from hc.item where kind = 'k0'")
            let job = try await bench.purge(
                "hc.item",
                "$$kind = 'k0'$$, archive => 'hc.kept', batch => 7"
            )
            #expect(job.report.archived == 50, "\(job.error ?? "")")
            #expect(try await bench.rows("select id, kind from hc.kept order by id") == before)
            #expect(
                try await bench.rows(
                    "select purged_by, count(*), count(distinct purged_batch) from hc.kept group by 1"
                ) == [["\(job.id)", "50", "8"]]
            )
            #expect(
                try await bench.rows(
                    "select sum(rows), count(*), min(archive), min(operation) from bulkhead.archive_block"
                ) == [["50", "8", "hc.kept", "delete"]]
            )
        }
    }

    @Test func anArchiveTableThatIsThereMustTakeTheRows() async throws {
        let setup =
            Self.items + """
                create table hc.right (more text, kind text, id bigint, purged_by bigint, purged_batch bigint);
                create table hc.few (id int, purged_by bigint, purged_batch bigint);
                create unlogged table hc.unlogged (like hc.right);
                create view hc.seen as select * from hc.right;
                """
        try await PurgeBench.with(setup) { bench in
            for (archive, problem) in [
                ("hc.few", "lacks the column kind"), ("hc.item", "is the table that is purged"),
                ("hc.unlogged", "is not kept by a crash"), ("hc.seen", "is not a table"),
            ] {
                let job = try await bench.purge("hc.item", "$$true$$, archive => '\(archive)'")
                #expect(job.state == "discarded")
                #expect(job.error?.contains(problem) == true, "\(job.error ?? "")")
            }
            #expect(try await bench.value("select count(*) from hc.item") == "100")
            let job = try await bench.purge("hc.item", "$$true$$, archive => 'hc.right'")
            #expect(job.report.archived == 100, "\(job.error ?? "")")
            #expect(
                try await bench.value("select count(*) from hc.right where more is null") == "100"
            )
        }
    }

    @Test func aRoleThatMayNotMakeTheTableIsToldHowItMustLook() async throws {
        try await PurgeBench.with(Self.items + "create schema own") { bench in
            try await LimitedRole.with(in: bench.database) { role in
                try await bench.database.run(
                    "grant usage on schema hc, own to \(role.name); grant select, delete on hc.item to \(role.name)"
                )
                let id = try await bench.enqueue("hc.item", "$$true$$, archive => 'own.kept'")
                try await bench.drain { $0.address = role.address }
                let refused = try await bench.outcome(of: id)
                #expect(
                    refused.error?.contains("two columns more, purged_by bigint and purged_batch")
                        == true,
                    "\(refused.error ?? "")"
                )
                #expect(refused.state == "discarded")
                try await bench.database.run(
                    """
                    create table own.kept (like hc.item, purged_by bigint, purged_batch bigint);
                    grant insert on own.kept to \(role.name)
                    """
                )
                let again = try await bench.enqueue("hc.item", "$$true$$, archive => 'own.kept'")
                try await bench.drain { $0.address = role.address }
                let job = try await bench.outcome(of: again)
                #expect(job.report.archived == 100, "\(job.error ?? "")")
            }
        }
    }

    @Test func filesAreNamedByJobAndAttemptAndStayWithTheHost() async throws {
        try await PurgeBench.with(Self.items) { bench in
            try bench.folder.write("mine", to: "kept.1-1.jsonl.gz")
            let job = try await bench.purge(
                "hc.item",
                "$$true$$, archive => 'kept.jsonl.gz', batch => 30"
            )
            #expect(job.report.archived == 100, "\(job.error ?? "")")
            // The name of the first attempt was taken.
            #expect(
                try await bench.rows(
                    "select distinct file, host, operation, columns::text from bulkhead.archive_block"
                ) == [["kept.\(job.id)-2.jsonl.gz", "test", "delete", "{id,kind}"]]
            )
            #expect(try await bench.value("select host from bulkhead.job") == "test")
            let text = try String(
                contentsOfFile: bench.folder.path + "/kept.1-1.jsonl.gz",
                encoding: .utf8
            )
            #expect(text == "mine")
        }
    }

    @Test(
        arguments: [
            ("/etc/kept.jsonl.gz", "does not lie inside the import root"),
            ("../kept.jsonl.gz", "does not lie inside the import root"),
            ("nowhere/kept.jsonl.gz", "no such file inside the import root"),
        ]
    )
    func aFileThatCannotBeMadeFailsBeforeTheFirstRow(name: String, problem: String) async throws {
        try await PurgeBench.with(Self.items) { bench in
            let job = try await bench.purge("hc.item", "$$true$$, archive => '\(name)'")
            #expect(job.state == "discarded")
            #expect(job.error?.contains(problem) == true, "\(job.error ?? "")")
            #expect(try await bench.value("select count(*) from hc.item") == "100")
        }
    }

    @Test(arguments: ["hc.kept", "kept.jsonl.gz"])
    func tablesOfOneNameInTwoSchemasDoNotMix(archive: String) async throws {
        let setup = """
            create schema hc; create schema a; create schema b;
            create table hc.par (id int primary key);
            create table a.chi (id int primary key, par int references hc.par on delete cascade);
            create table b.chi (id int primary key, par int references hc.par on delete cascade);
            create index on a.chi (par); create index on b.chi (par);
            insert into hc.par select generate_series(1, 20);
            insert into a.chi select g, g from generate_series(1, 20) g;
            insert into b.chi select 100 + g, g from generate_series(1, 20) g;
            """
        try await PurgeBench.with(setup) { bench in
            let tables = ["hc.par", "a.chi", "b.chi"]
            let before = try await tables.inTurn { try await bench.checksum($0) }
            let job = try await bench.purge(
                "hc.par",
                "$$true$$, archive => '\(archive)', batch => 6"
            )
            #expect(job.report.archived == 60, "\(job.error ?? "")")
            let back = try await bench.restore(job.id)
            #expect(back.restored.restored == 60, "\(back.error ?? "")")
            #expect(try await tables.inTurn { try await bench.checksum($0) } == before)
        }
    }

    @Test(arguments: ["hc.kept", "kept.jsonl.gz"])
    func whatGoesAlongInSeveralPartitionsIsArchived(archive: String) async throws {
        let setup = """
            create schema hc;
            create table hc.par (id int primary key);
            create table hc.chi (id int, par int references hc.par on delete cascade, primary key (id, par))
                partition by hash (id);
            create table hc.chi1 partition of hc.chi for values with (modulus 2, remainder 0);
            create table hc.chi2 partition of hc.chi for values with (modulus 2, remainder 1);
            create table hc.use (id int primary key, chi int, par int,
                foreign key (chi, par) references hc.chi on delete set null);
            create index on hc.chi (par); create index on hc.use (chi, par);
            insert into hc.par select generate_series(1, 20);
            insert into hc.chi select g, 1 + g % 20 from generate_series(1, 200) g;
            insert into hc.use select g, g, 1 + g % 20 from generate_series(1, 200) g;
            """
        try await PurgeBench.with(setup) { bench in
            let tables = ["hc.par", "hc.chi", "hc.use"]
            let before = try await tables.inTurn { try await bench.checksum($0) }
            let job = try await bench.purge(
                "hc.par",
                "$$true$$, archive => '\(archive)', batch => 6"
            )
            #expect(job.report.archived == 420, "\(job.error ?? "")")
            #expect(job.report.cascaded == 200)
            let back = try await bench.restore(job.id)
            #expect(back.restored.restored == 220, "\(back.error ?? "")")
            #expect(back.restored.updated == 200)
            #expect(try await tables.inTurn { try await bench.checksum($0) } == before)
        }
    }

    /// A flight lets go of the airport that it leaves and of the one that it goes to.
    @Test(arguments: ["hc.kept", "kept.jsonl.gz"])
    func bothKeysOfOneRowThatLetGoAreArchived(archive: String) async throws {
        let setup = """
            create schema hc;
            create table hc.airport (id int primary key, old bool);
            create table hc.flight (id int primary key, origin int references hc.airport on delete set null,
                dest int default 1 references hc.airport on delete set default, note text);
            create index on hc.flight (origin); create index on hc.flight (dest);
            insert into hc.airport select g, g > 5 from generate_series(1, 20) g;
            insert into hc.flight select g, 1 + g % 20, 1 + g * 7 % 20, 'n' || g from generate_series(1, 200) g;
            """
        try await PurgeBench.with(setup) { bench in
            let before = try await bench.checksum("hc.flight")
            let job = try await bench.purge(
                "hc.airport",
                "$$old$$, archive => '\(archive)', batch => 100"
            )
            #expect(job.report.deleted == 15, "\(job.error ?? "")")
            #expect(
                try await bench.value("select count(*) from hc.flight where origin > 5 or dest > 5")
                    == "0"
            )
            let back = try await bench.restore(job.id)
            #expect(back.state == "completed", "\(back.error ?? "")")
            #expect(try await bench.checksum("hc.flight") == before)
        }
    }

    @Test(arguments: ["hc.kept", "kept.jsonl.gz"])
    func whatBlocksARowIsNoPartOfTheArchive(archive: String) async throws {
        let setup = """
            create schema hc;
            create table hc.par (id int primary key);
            create table hc.chi (id int primary key, par int references hc.par on delete cascade);
            create table hc.keep (id int primary key, par int references hc.par);
            create index on hc.chi (par); create index on hc.keep (par);
            insert into hc.par select generate_series(1, 20);
            insert into hc.chi select g, g from generate_series(1, 20) g;
            insert into hc.keep values (1, 3), (2, 4);
            """
        try await PurgeBench.with(setup) { bench in
            let job = try await bench.purge(
                "hc.par",
                "$$true$$, archive => '\(archive)', batch => 6"
            )
            #expect(job.report.deleted == 18, "\(job.error ?? "")")
            #expect(job.report.cascaded == 18)
            #expect(job.report.archived == 36)
            #expect(job.report.blocked == 2)
            #expect(try await bench.rows("select id from hc.chi order by id") == [["3"], ["4"]])
            #expect(try await bench.value("select sum(rows) from bulkhead.archive_block") == "36")
        }
    }
}

extension Array {
    /// One result after another.
    func inTurn<Result>(_ body: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await body(element)) }
        return results
    }
}
