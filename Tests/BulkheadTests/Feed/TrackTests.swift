import Bulkhead
import BulkheadTesting
import Postgres
import Testing

/// Whoever changes a tracked table, the feed says which rows.
@Suite struct TrackTests {
    private func expect(
        _ script: String,
        _ expected: [String],
        setup: String,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        try await TestDatabase.with { database in
            try await database.run(setup)
            try await database.run(script)
            #expect(try await database.changes() == expected, sourceLocation: location)
        }
    }

    private static let table = """
        create table t (id int primary key, n numeric, j json);
        select bulkhead.track('t'); insert into t select i, 1.0, '{}' from generate_series(1, 3) i;
        delete from bulkhead.change
        """

    @Test(arguments: [
        ("insert into t values (4), (5)", ["public.t insert [4, 5]"]),
        ("insert into t select 9 where false", []),
        ("update t set n = 2 where id > 1", ["public.t update [2, 3]"]),
        ("update t set n = n, j = j, id = id", []),
        ("update t set n = 1.00 where id = 1", ["public.t update [1]"]),
        ("update t set j = '{ }' where id = 1", ["public.t update [1]"]),
        ("update t set n = id", ["public.t update [1, 2, 3]"]),
        ("update t set id = 7 where id = 2", ["public.t delete [2]", "public.t insert [7]"]),
        (
            "update t set id = id + 3, n = 5",
            ["public.t delete [1, 2, 3]", "public.t insert [4, 5, 6]"]
        ),
        ("delete from t where id <> 2", ["public.t delete [1, 3]"]),
        ("truncate t", ["public.t reset null"]),
        (
            "insert into t values (3, 8), (4, 8) on conflict (id) do update set n = excluded.n",
            ["public.t insert [4]", "public.t update [3]"]
        ),
        ("insert into t values (3) on conflict do nothing", []),
        (
            "merge into t using (values (1), (9)) as s (id) on s.id = t.id when matched then delete when not matched then insert values (s.id)",
            ["public.t delete [1]", "public.t insert [9]"]
        ),
        ("begin; delete from t; rollback", []),
        ("set session_replication_role = replica; delete from t", []),
        ("select bulkhead.untrack('t'); delete from t", []),
        ("select bulkhead.track('t'); delete from t where id = 1", ["public.t delete [1]"]),
    ])
    func aStatementIsRecordedByWhatItChanged(_ script: String, _ expected: [String]) async throws {
        try await TestDatabase.with { database in
            try await database.run(Self.table)
            try await database.run(script)
            // The triggers of one statement run in an order of the server's.
            #expect(try await database.changes().sorted() == expected.sorted())
        }
    }

    @Test func keysStandAsInEveryOtherChange() async throws {
        try await expect(
            """
            insert into big values (1, true); insert into typed values (true, 5, 'x', 'ab', '2025-01-01', '1e3');
            set timezone = 'Europe/Paris'; set datestyle = 'sql, dmy'; set extra_float_digits = -5;
            update typed set b = 6, f = 0.1; set search_path = x; delete from public.typed
            """,
            [
                "public.\"Big\" insert [\"1\"]",
                "public.typed insert [[\"true\", \"5\", \"x\", \"ab\", \"2025-01-01 00:00:00+00\", \"1000\"]]",
                "public.typed delete [[\"true\", \"5\", \"x\", \"ab\", \"2025-01-01 00:00:00+00\", \"1000\"]]",
                "public.typed insert [[\"true\", \"6\", \"x\", \"ab\", \"2025-01-01 00:00:00+00\", \"0.1\"]]",
                "public.typed delete [[\"true\", \"6\", \"x\", \"ab\", \"2025-01-01 00:00:00+00\", \"0.1\"]]",
            ],
            setup: """
                create domain dom as int; create type en as enum ('x');
                create table "Big" (id bigint primary key, t bool);
                create view big as select * from "Big";
                create table typed (a bool, b dom, c en, d char(3), e timestamptz, f float8,
                    primary key (a, b, c, d, e, f));
                set timezone = 'UTC'; select bulkhead.track('"Big"'), bulkhead.track('typed')
                """
        )
    }

    /// FC-130: two keys that would look the same side by side must not do so in the feed.
    @Test func compositeKeysOfAnyTextCanBeTakenApart() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                create table ck (a text, b text, primary key (a, b)); select bulkhead.track('ck');
                insert into ck values ('1', 'x'), ('1', 'x,y'), ('1,x', 'y'), ('q"uote', 'b'), (e'new\\nline', 'b'),
                    ('', 'empty-a'), ('😀', 'é'), (' lead', 'b'), ('{1}', 'b'), ('null', 'b'), (e'back\\\\slash', 'b');
                """
            )
            let rebuilt: SQL = """
                select jsonb_agg(i order by i) = (select jsonb_agg(jsonb_build_array(a, b) order by jsonb_build_array(a, b)) from kept)
                from bulkhead.change, jsonb_array_elements(ids) i where operation =
                """
            try await database.run("create table kept as table ck; delete from ck")
            try await database.expect("\(rebuilt) 'insert'", "t")
            try await database.expect("\(rebuilt) 'delete'", "t")
        }
    }

    @Test func tablesWithoutAKeyAreToBeReadAgain() async throws {
        try await expect(
            """
            insert into n values ('1'), ('1'), ('[]'); insert into n select '1' where false;
            update n set j = j; update n set j = '2' where j::text = '[]'; delete from n where j::text = '2';
            delete from n where j::text = '2'
            """,
            ["public.n insert null", "public.n update null", "public.n delete null"],
            setup: "create table n (j json); select bulkhead.track('n')"
        )
    }

    /// FC-095: who follows the children is told of what goes with the parents.
    @Test func cascadesAreRecordedWithTheirIds() async throws {
        try await expect(
            "delete from par where id <= 2; update par set id = 30 where id = 3",
            [
                "public.par delete [1, 2]", "public.chi delete [1, 2, 4, 5]",
                "public.grand update [1, 2, 4, 5]", "public.par delete [3]",
                "public.par insert [30]", "public.chi update [3, 6]",
            ],
            setup: """
                create table par (id int primary key);
                create table chi (id int primary key, p int references par on delete cascade on update cascade);
                create table grand (id int primary key, c int references chi on delete set null);
                insert into par select generate_series(1, 3);
                insert into chi select i, 1 + (i - 1) % 3 from generate_series(1, 6) i;
                insert into grand select i, i from generate_series(1, 6) i;
                select bulkhead.track('par'), bulkhead.track('chi'), bulkhead.track('grand')
                """
        )
    }

    static let partitioned = """
        create table p (id int primary key, n int) partition by range (id);
        create table p1 (n int, id int not null); alter table p attach partition p1 for values from (0) to (10);
        create table p2 partition of p for values from (10) to (100) partition by range (id);
        create table p21 partition of p2 for values from (10) to (50);
        select bulkhead.track('p')
        """

    @Test func partitionsCountAsTheTableThatTheyBelongTo() async throws {
        try await expect(
            """
            insert into p values (1), (11); insert into p1 values (5, 2); insert into p21 values (12);
            update p set id = id + 11, n = 9 where id = 2; update p set n = 9;
            update p2 set n = 8 where id = 12; delete from p1; truncate p2
            """,
            [
                "public.p insert [1, 11]", "public.p insert [2]", "public.p insert [12]",
                "public.p delete [2]", "public.p insert [13]", "public.p update [1, 11, 12]",
                "public.p update [12]", "public.p delete [1]", "public.p reset null",
            ],
            setup: Self.partitioned
        )
    }

    @Test func longListsAreCutIntoRowsOfTenThousand() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                create table t (id int primary key, n int); select bulkhead.track('t');
                insert into t select i from generate_series(1, 25000) i; update t set n = 1
                """
            )
            try await database.expect(
                """
                select string_agg(operation || jsonb_array_length(ids), ' ' order by id) || (
                    select ' ' || count(distinct i) from bulkhead.change, jsonb_array_elements(ids) i)
                from bulkhead.change
                """,
                "insert10000 insert10000 insert5000 update10000 update10000 update5000 25000"
            )
        }
    }

    @Test func aRoleWithoutRightsIsRecordedAndCannotMisuseIt() async throws {
        try await TestDatabase.with { database in
            let name = "w_\(database.name)"
            try await database.run(
                """
                create table t (id int primary key); select bulkhead.track('t'); create role \(name) login;
                grant all on t to \(name); grant create on database \(database.name) to \(name);
                grant create on schema public to \(name)
                """
            )
            let role = try database.at(database.url.replacing("postgres@", with: "\(name)@"))
            // Names of its own stand before the server's, and what it can define turns up as a key.
            try await role.run(
                """
                create schema mine; set search_path = mine, pg_catalog, public;
                create function mine.lower(text) returns text language sql as 'select ''stolen''';
                create function mine.to_json(text) returns json language sql as 'select ''"stolen"''::json';
                insert into t values (1)
                """
            )
            #expect(try await database.changes() == ["public.t insert [1]"])
            for statement in [
                "select * from bulkhead.change",
                "insert into bulkhead.change (relation) values ('x')",
                "create table own (id int primary key); create trigger x after insert on own for each statement execute function bulkhead.record_change()",
                "select bulkhead.track('t')",
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await role.run(statement)
                }
                #expect(error?.kind == .permission, "\(statement)")
            }
            try await database.run("drop owned by \(name); drop role \(name)")
        }
    }

    /// A cast to text may be a function of the type's owner, which must not run with the feed's rights.
    @Test func castsThatUsersDefineDoNotRun() async throws {
        try await expect(
            "insert into t values ('a'); delete from t",
            ["public.t insert [\"a\"]", "public.t delete [\"a\"]"],
            setup: """
                create type en as enum ('a');
                create function stolen(en) returns text language plpgsql as 'begin raise exception ''ran''; end';
                create cast (en as text) with function stolen(en) as implicit;
                create table t (id en primary key); select bulkhead.track('t')
                """
        )
    }

    @Test(arguments: [
        ("create temporary table x (id int)", "temporary"),
        ("create unlogged table x (id int)", "unlogged"),
        ("create view x as select 1", "not a table"),
        (
            "create table r (id int) partition by range (id); create table x partition of r default",
            "track public.r"
        ),
    ])
    func whatCannotBeTrackedIsRefused(_ setup: String, _ reason: String) async throws {
        try await TestDatabase.with { database in
            let error = await #expect(throws: PostgresError.self) {
                try await database.run("\(setup); select bulkhead.track('x')")
            }
            #expect(error?.state?.rawValue == "42809")
            #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
        }
    }
}
