import Bulkhead
import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

/// What refers to the rows of a purge keeps them, goes with them, or lets go of them; and readers are told.
@Suite struct ReferenceTests {
    private static func family(_ action: String, index: Bool = true) -> String {
        """
        create schema hc;
        create table hc.par (id int primary key, old bool not null default true);
        create table hc.chi (id int primary key, par_id int references hc.par \(action));
        \(index ? "create index on hc.chi (par_id);" : "")
        insert into hc.par select g from generate_series(1, 1000) g;
        insert into hc.chi select g, g * 3 from generate_series(1, 300) g;
        """
    }

    @Test(arguments: ["", "on delete restrict", "deferrable initially deferred"], [10, 5000])
    func rowsThatOthersReferToStayAndAreCounted(action: String, batch: Int) async throws {
        try await PurgeBench.with(Self.family(action)) { bench in
            let job = try await bench.purge("hc.par", "$$old$$, batch => \(batch)")
            #expect(job.state == "completed", "\(job.error ?? "")")
            let report = job.report
            #expect(report.deleted == 700)
            #expect(report.blocked == 300)
            #expect(report.left == 0)
            #expect(report.firstLeft == "hc.par 3")
            #expect(
                try await bench.value("select count(*) from hc.par where id % 3 = 0 and id <= 900")
                    == "300"
            )
            #expect(try await bench.changes("delete", "hc.par").count == 700)
        }
    }

    /// Whoever may not look at the table that refers finds the rows by trying.
    @Test func rowsThatAnUnreadableTableRefersToStayToo() async throws {
        try await PurgeBench.with(Self.family("") + "delete from hc.chi where id > 20") { bench in
            try await LimitedRole.with(in: bench.database) { role in
                try await bench.database.run(
                    "grant usage on schema hc to \(role.name); grant select, delete on hc.par to \(role.name)"
                )
                let id = try await bench.enqueue("hc.par", "$$old$$, batch => 100")
                try await bench.drain { $0.address = role.address }
                let job = try await bench.outcome(of: id)
                #expect(job.report.deleted == 980, "\(job.error ?? "")")
                #expect(job.report.blocked == 20)
            }
        }
    }

    /// FC-095: the children go, the grandchildren let go, and readers of both are told.
    @Test(arguments: [false, true])
    func whatGoesAlongIsToldOf(isTracked: Bool) async throws {
        let setup =
            try CaseFiles.text("FC-095/setup.sql") + """
                ;create index on hc.chi (par_id); create index on hc.grand (chi_id);
                """
            + (isTracked ? "select bulkhead.track('hc.chi'), bulkhead.track('hc.grand');" : "")
        let check = try CaseFiles.text("FC-095/check.sql")
        try await PurgeBench.with(setup) { bench in
            let job = try await bench.purge("hc.par", "$$old$$")
            #expect(job.report.deleted == 5, "\(job.error ?? "")")
            #expect(job.report.cascaded == 15)
            #expect(try await bench.rows(check) == [["5", "15", "15"]])
            let gone = try await bench.changes("delete", "hc.chi")
            let changed = try await bench.changes("update", "hc.grand")
            if isTracked {
                #expect(gone.count == 15)
                #expect(changed.count == 15)
            } else {
                #expect(try await bench.changes("reset", "hc.chi") == ["all"])
                #expect(try await bench.changes("reset", "hc.grand") == ["all"])
            }
            // A purge that touches nothing of them says nothing of them.
            try await bench.database.run("insert into hc.par values (77, true)")
            let next = try await bench.purge("hc.par", "$$old$$")
            #expect(next.report.cascaded == 0)
            #expect(
                try await bench.value("select count(*) from bulkhead.change where job = \(next.id)")
                    == "1"
            )
        }
    }

    @Test func aReferenceWithoutAnIndexIsRefusedUnlessForced() async throws {
        try await PurgeBench.with(Self.family("on delete cascade", index: false)) { bench in
            let job = try await bench.purge("hc.par", "$$old$$")
            #expect(job.state == "discarded")
            #expect(
                job.error?.contains("create index concurrently on hc.chi (par_id)") == true,
                "\(job.error ?? "")"
            )
            #expect(try await bench.value("select count(*) from hc.par") == "1000")
            let forced = try await bench.purge("hc.par", "$$old$$, force => true")
            #expect(forced.report.deleted == 1000, "\(forced.error ?? "")")
            #expect(forced.report.cascaded == 300)
        }
    }

    @Test func aTreeGoesFromItsLeavesUp() async throws {
        let setup = """
            create schema hc;
            create table hc.node (id int primary key, up int references hc.node);
            create index on hc.node (up);
            insert into hc.node select g, nullif(g / 2, 0) from generate_series(1, 1023) g;
            insert into hc.node values (5000, 511);
            """
        try await PurgeBench.with(setup) { bench in
            let job = try await bench.purge("hc.node", "$$id < 5000$$, batch => 100")
            // All but those above the one that stays.
            #expect(job.report.deleted == 1023 - 9, "\(job.error ?? "")")
            #expect(job.report.blocked == 9)
        }
    }

    @Test func whatKeepsAChildKeepsItsParent() async throws {
        let setup =
            Self.family("on delete cascade") + """
                create table hc.keep (id int primary key, chi_id int references hc.chi);
                create index on hc.keep (chi_id);
                insert into hc.keep select g, g * 10 from generate_series(1, 30) g;
                """
        try await PurgeBench.with(setup) { bench in
            let job = try await bench.purge("hc.par", "$$old$$, batch => 128")
            #expect(job.report.blocked == 30, "\(job.error ?? "")")
            #expect(job.report.deleted == 970)
            #expect(job.report.cascaded == 270)
        }
    }

    @Test func whatATriggerOrAPolicyKeepsIsCountedAndNeverLooped() async throws {
        let setup =
            Self.family("on delete cascade") + """
                create function hc.keep() returns trigger language plpgsql as $$
                begin if old.id <= 5 then return null; end if; return old; end $$;
                create trigger keep before delete on hc.par for each row execute function hc.keep();
                """
        try await PurgeBench.with(setup) { bench in
            let job = try await bench.purge("hc.par", "$$old$$, batch => 3")
            #expect(job.state == "completed")
            #expect(job.report.deleted == 995, "\(job.error ?? "")")
            #expect(job.report.left == 5)
            #expect(job.report.firstLeft == "hc.par 1")
        }
        let policy = """
            create schema hc;
            create table hc.par (id int primary key, v int) partition by range (id);
            create table hc.par1 partition of hc.par for values from (0) to (500);
            create table hc.par2 partition of hc.par for values from (500) to (2000);
            insert into hc.par select g, g % 2 from generate_series(1, 1000) g;
            alter table hc.par enable row level security;
            create policy see on hc.par for select using (id > 10);
            create policy own on hc.par for delete using (id % 10 <> 0);
            """
        try await PurgeBench.with(policy) { bench in
            try await LimitedRole.with(in: bench.database) { role in
                try await bench.database.run(
                    "grant usage on schema hc to \(role.name); grant select, delete on hc.par to \(role.name)"
                )
                let id = try await bench.enqueue("hc.par", "$$v = 0$$, batch => 7")
                try await bench.drain { $0.address = role.address }
                let job = try await bench.outcome(of: id)
                #expect(job.report.deleted == 396, "\(job.error ?? "")")
                #expect(job.report.left == 99)
                #expect(try await bench.value("select count(*) from hc.par") == "604")
            }
        }
    }
}
