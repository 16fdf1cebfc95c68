import Testing

@testable import BulkheadJobs

@Suite struct LockTargetTests {
    /// Statements with the tables that they lock and the modes, as pg_locks shows them on a server.
    @Test(arguments: [
        ("alter table a add b int", ["a access exclusive"]),
        ("ALTER TABLE IF EXISTS ONLY s.\"A b\" * rename to c", ["s.\"A b\" access exclusive"]),
        ("alter table a validate constraint c", ["a share update exclusive"]),
        ("alter table a validate constraint c, add d int", ["a access exclusive"]),
        (
            "alter table a add constraint f foreign key (x, y) references s.b (x, y) not valid",
            ["a share row exclusive", "s.b share row exclusive"]
        ),
        ("alter table a add x int references b", ["a access exclusive", "b share row exclusive"]),
        ("alter table a alter x set statistics 5", ["a share update exclusive"]),
        ("alter table a disable trigger t", ["a share row exclusive"]),
        (
            "alter table p attach partition c for values in (1)",
            ["p share update exclusive", "c access exclusive"]
        ),
        ("alter table p detach partition c", ["p access exclusive", "c access exclusive"]),
        ("create index if not exists i on only a using btree (b)", ["a share"]),
        ("create unique index concurrently on a (b)", ["a share"]),
        (
            "create or replace trigger t after insert on a for each row execute function f()",
            ["a share row exclusive"]
        ),
        ("create policy p on a", ["a access exclusive"]),
        (
            "create table c (x int references a, y int references s.b)",
            ["a share row exclusive", "s.b share row exclusive"]
        ),
        ("create table c partition of p default", ["p access exclusive"]),
        ("drop table if exists a, s.b cascade", ["a access exclusive", "s.b access exclusive"]),
        ("drop index concurrently if exists i", ["i access exclusive"]),
        ("drop trigger t on a", ["a access exclusive"]),
        ("truncate a, b", ["a access exclusive", "b access exclusive"]),
        ("truncate table only a", ["a access exclusive"]),
        ("comment on table a is 'x'", ["a share update exclusive"]),
        ("insert into a select * from b", ["a row exclusive"]),
        ("update only a set x = 1", ["a row exclusive"]),
        ("delete from a using b", ["a row exclusive"]),
        ("select * from a", []), ("create function f() returns int language sql as 'select 1'", []),
        ("do $$ begin alter table a add b int; end $$", []), ("alter table", []), ("drop", []),
    ])
    func wordsTellWhatIsLocked(statement: String, locks: [String]) throws {
        let targets = try StatementSplitter.statements(statement)[0].lockTargets
        #expect(targets.map { "\($0.name) \($0.mode.rawValue)" } == locks)
    }

    @Test func waitsGetLongerUpToTheLongestAndEnd() {
        var ladder = LockLadder(maxBlock: .milliseconds(300), total: .seconds(60))
        var rungs: [Duration] = []
        var rests: [Duration] = []
        while true {
            rungs.append(ladder.rung)
            guard let rest = ladder.failed(took: ladder.rung, random: 1) else { break }
            rests.append(rest)
        }
        #expect(Array(rungs.prefix(5)) == [50, 100, 200, 300, 300].map { .milliseconds($0) })
        #expect(
            Array(rests.prefix(8))
                == [100, 200, 400, 800, 1600, 3200, 5000, 5000].map { .milliseconds($0) }
        )
        #expect(rungs.reduce(.zero, +) + rests.reduce(.zero, +) <= .seconds(60))
        var calm = LockLadder(maxBlock: .milliseconds(500), total: .seconds(60))
        #expect(calm.failed(took: .zero, random: 0) == .milliseconds(50))
    }
}
