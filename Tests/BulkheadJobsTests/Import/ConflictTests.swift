import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

/// What happens when a row's key is there already: the policy decides, and only for that key.
@Suite struct ConflictTests {
    static let person = "create schema hc; create table hc.person (id int primary key, name text);"
    static let repeated = "id,name\n1,a\n2,b\n1,c\n3,d\n2,e\n"

    @Test(arguments: [1, 2, 3, 1000])
    func skipKeepsTheFirstOfTwoRowsWithOneKey(batch: Int) async throws {
        try await ImportBench.with(Self.person) { bench in
            let job = try await bench.load(
                "hc.person",
                Self.repeated,
                "on_conflict => 'skip', batch => \(batch)"
            )
            #expect(job.state == "completed", "\(job.error ?? "")")
            #expect(job.totals == ImportTotals(read: 5, inserted: 3, skipped: 2))
            #expect(try job.ids == ["1", "2", "3"])
            #expect(
                try await bench.rows("select * from hc.person order by id")
                    == [["1", "a"], ["2", "b"], ["3", "d"]]
            )
            let again = try await bench.load("hc.person", Self.repeated, "on_conflict => 'skip'")
            #expect(again.totals == ImportTotals(read: 5, skipped: 5))
            #expect(again.changes == [])
        }
    }

    /// Earlier batches stay, the failing one leaves nothing; allowed rejects change nothing.
    @Test(arguments: [(1, 2), (2, 2), (3, 0), (1000, 0)])
    func errorFailsAtTheFirstConflict(batch: Int, stays: Int) async throws {
        try await ImportBench.with(Self.person) { bench in
            let job = try await bench.load(
                "hc.person",
                Self.repeated,
                "batch => \(batch), max_rejects => 100"
            )
            #expect(job.state == "discarded")
            #expect(job.attempt == 1)
            #expect(job.sqlstate == "23505")
            #expect(job.position == "in.csv line 4")
            #expect(job.error?.contains("(id)=(1)") == true, "\(job.error ?? "")")
            #expect(try await bench.value("select count(*) from hc.person") == "\(stays)")
            #expect(job.totals == ImportTotals(read: Int64(stays), inserted: Int64(stays)))
            #expect(try job.ids.count == stays)
        }
    }

    @Test func aConflictOfAStoredRowIsNamedByItsLine() async throws {
        try await ImportBench.with(Self.person + "insert into hc.person values (4, 'there')") { bench in
            let rows = (1...9).map { "\($0),n\($0)" }
            let job = try await bench.load("hc.person", "id,name\n" + rows.joined(separator: "\n"))
            #expect(job.position == "in.csv line 5")
            #expect(try await bench.value("select count(*) from hc.person") == "1")
        }
    }

    @Test func anotherKeyThanThePrimaryOneMayDecide() async throws {
        let setup = Self.person + "create unique index on hc.person (name);"
        try await ImportBench.with(setup) { bench in
            let text = "id,name\n1,a\n2,a\n1,b\n3,c\n"
            let job = try await bench.load(
                "hc.person",
                text,
                "on_conflict => 'skip', key => array['name'], max_rejects => 5"
            )
            #expect(job.totals == ImportTotals(read: 4, inserted: 2, skipped: 1, rejected: 1))
            #expect(job.rejects.map(\.line) == [4])
            #expect(job.rejects.map(\.sqlstate) == ["23505"])
            let strict = try await bench.load(
                "hc.person",
                "id,name\n1,z\n9,c\n",
                "key => array['name'], max_rejects => 5"
            )
            #expect(strict.position == "in.csv line 3")
        }
    }

    @Test(arguments: [
        ("create unique index on hc.person (name) where id > 5;", "array['name']", "no unique index"),
        ("create unique index on hc.person (lower(name));", "array['name']", "no unique index"),
        ("", "array['nowhere']", "not a column"),
    ])
    func aKeyThatCannotDecideIsRefused(setup: String, key: String, says: String) async throws {
        try await ImportBench.with(Self.person + setup) { bench in
            let job = try await bench.load(
                "hc.person",
                "id,name\n1,a\n",
                "on_conflict => 'skip', key => \(key)"
            )
            #expect(job.state == "discarded")
            #expect(job.error?.contains(says) == true, "\(job.error ?? "")")
        }
    }

    @Test func aDeferrableKeyCannotBeSkippedButCanConflict() async throws {
        let setup = """
            create schema hc;
            create table hc.late (id int primary key deferrable initially deferred, name text);
            """
        try await ImportBench.with(setup) { bench in
            let skip = try await bench.load("hc.late", Self.repeated, "on_conflict => 'skip'")
            #expect(skip.state == "discarded")
            #expect(skip.error?.contains("deferrable") == true, "\(skip.error ?? "")")
            let error = try await bench.load("hc.late", Self.repeated, "max_rejects => 9")
            #expect(error.sqlstate == "23505")
            #expect(error.position == "in.csv line 4")
            #expect(try await bench.value("select count(*) from hc.late") == "0")
        }
    }

    @Test func anIndexWithFurtherColumnsIsTheKeyAllTheSame() async throws {
        let setup = """
            create schema hc;
            create table hc.wide (id int, name text, primary key (id) include (name));
            create unique index part on hc.wide (name) where id > 100;
            """
        try await ImportBench.with(setup) { bench in
            let job = try await bench.load("hc.wide", "id,name\n1,a\n1,b\n", "max_rejects => 9")
            #expect(job.state == "discarded")
            #expect(job.position == "in.csv line 3")
            let partial = try await bench.load("hc.wide", "id,name\n101,a\n102,a\n", "max_rejects => 9")
            #expect(partial.totals == ImportTotals(read: 2, inserted: 1, rejected: 1))
        }
    }

    @Test func withoutAnyKeyThereIsNoConflictAndSkipIsRefused() async throws {
        let setup = "create schema hc; create table hc.bag (id int, name text unique);"
        try await ImportBench.with(setup) { bench in
            let job = try await bench.load("hc.bag", "id,name\n1,a\n1,b\n2,a\n", "max_rejects => 1")
            #expect(job.totals == ImportTotals(read: 3, inserted: 2, rejected: 1))
            #expect(job.changes == ["null"])
            let skip = try await bench.load("hc.bag", "id,name\n1,a\n", "on_conflict => 'skip'")
            #expect(skip.error?.contains("no primary key") == true, "\(skip.error ?? "")")
        }
    }

    /// Keys are equal when the database says so.
    @Test func equalityIsTheDatabases() async throws {
        let setup = """
            create extension citext; create schema hc;
            create table hc.mail (address citext primary key, n numeric unique);
            """
        try await ImportBench.with(setup) { bench in
            let job = try await bench.load(
                "hc.mail",
                "address,n\na@b.c,1\nA@B.C,2\nd@e.f,1.0\ng@h.i,7\n",
                "on_conflict => 'skip', max_rejects => 1"
            )
            #expect(job.totals == ImportTotals(read: 4, inserted: 2, skipped: 1, rejected: 1))
            #expect(try job.ids == ["\"a@b.c\"", "\"g@h.i\""])
        }
    }
}
