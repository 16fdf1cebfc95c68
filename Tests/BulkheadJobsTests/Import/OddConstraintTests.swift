import Testing

/// Checks, references and unique indexes of every sort.
@Suite struct OddConstraintTests {
    static let tables: [OddTable] = [
        OddTable(
            name: "bad values and repeated keys",
            setup: """
                create table hc.t(id int primary key, v int, s text);
                insert into hc.t values (1,null,'old'),(2,4,'n2'),(3,3,null);
                """,
            columns: ["id", "v", "s"],
            rows: [
                ["1", "2", "n1"],
                ["2", "4", "n2"],
                ["3", "6", "n3"],
                ["4", "8", "n4"],
                ["5", "10", "n5"],
                ["6", "12", "n6"],
                ["7", "14", "n7"],
                ["8", "16", "n8"],
                ["x", "1", "a"],
                ["9", "y", "b"],
                ["2", "9", "c"],
                ["1", "5", "d"],
            ]
        ),
        OddTable(
            name: "a check of the whole row",
            setup: """
                create table hc.t(id int primary key, v int, s text, check (t is not null or v is null), check (v is distinct from 6 or (t).s <> 'n3'));
                insert into hc.t values (1,null,'old'),(2,4,'n2');
                """,
            columns: ["id", "v", "s"],
            rows: [
                ["1", "2", "n1"],
                ["2", "4", "n2"],
                ["3", "6", "n3"],
                ["4", "8", "n4"],
                ["5", "10", "n5"],
                ["6", "12", "n6"],
                ["7", "14", "n7"],
                ["8", "16", "n8"],
                ["9", "1", nil],
            ]
        ),
        OddTable(
            name: "a check that raises",
            setup: """
                create function hc.ck(int) returns bool language plpgsql as $$ begin if $1=10 then raise 'boom' using errcode='22012'; end if; return $1<>6; end $$;
                create table hc.t(id int primary key, v int check (hc.ck(v)), s text);
                insert into hc.t values (1,null,'old'),(2,4,'n2');
                """,
            columns: ["id", "v", "s"],
            rows: [
                ["1", "2", "n1"],
                ["2", "4", "n2"],
                ["3", "6", "n3"],
                ["4", "8", "n4"],
                ["5", "10", "n5"],
                ["6", "12", "n6"],
                ["7", "14", "n7"],
                ["8", "16", "n8"],
            ]
        ),
        OddTable(
            name: "a check that fails to compute",
            setup: """
                create table hc.t(id int primary key, v int check (100/(v-10) <> 33), s text check (length(s)<3));
                insert into hc.t values (1,null,'ol'),(2,4,'n2');
                """,
            columns: ["id", "v", "s"],
            rows: [
                ["1", "2", "n1"],
                ["2", "4", "n2"],
                ["3", "6", "n3"],
                ["4", "8", "n4"],
                ["5", "10", "n5"],
                ["6", "12", "n6"],
                ["7", "14", "n7"],
                ["8", "16", "n8"],
                ["7", "13", "x"],
                ["20", "1", "xxxx"],
            ]
        ),
        OddTable(
            name: "required columns",
            setup: """
                create table hc.t(id int primary key, v int not null default 5, s text not null, z int not null default 3);
                insert into hc.t values (1,1,'old',1),(2,4,'n2',2);
                """,
            columns: ["id", "v", "s"],
            rows: [
                ["1", "2", "n1"],
                ["2", "4", "n2"],
                ["3", "6", "n3"],
                ["4", "8", "n4"],
                ["5", "10", "n5"],
                ["6", "12", "n6"],
                ["7", "14", "n7"],
                ["8", "16", "n8"],
                ["1", nil, "a"],
                ["2", "3", nil],
                ["12", nil, nil],
                ["1", nil, nil],
            ]
        ),
        OddTable(
            name: "a deferred reference to itself",
            setup: """
                create table hc.t(id int primary key, v int references hc.t deferrable initially deferred, s text);
                insert into hc.t values (1,null,'old'),(2,1,'n2');
                """,
            columns: ["id", "v", "s"],
            rows: [
                ["3", "2", "a"],
                ["5", "3", "x"],
                ["6", "77", "y"],
                ["10", "10", "self"],
            ]
        ),
        OddTable(
            name: "a reference to a partitioned table",
            setup: """
                create table hc.p(a int, b int, primary key(a,b)) partition by list(a);
                create table hc.p1 partition of hc.p for values in (1);
                create table hc.p2(b int not null, a int not null);
                alter table hc.p attach partition hc.p2 for values in (2);
                insert into hc.p values (1,1),(2,2);
                create table hc.t(id int primary key, a int, b int, foreign key (a,b) references hc.p);
                insert into hc.t values (1,null,null),(2,2,2);
                """,
            columns: ["id", "a", "b"],
            rows: [
                ["1", "1", "1"],
                ["2", "1", "2"],
                ["3", "2", "2"],
                ["4", "2", "1"],
                ["5", nil, "9"],
                ["6", "9", nil],
            ]
        ),
        OddTable(
            name: "a reference with match full",
            setup: """
                create table hc.p(a int, b int, primary key(a,b));
                insert into hc.p values (1,1),(2,2);
                create table hc.t(id int primary key, a int, b int, foreign key (a,b) references hc.p match full);
                insert into hc.t values (1,null,null),(2,2,2);
                """,
            columns: ["id", "a", "b"],
            rows: [
                ["1", "1", "1"],
                ["2", "1", "2"],
                ["3", "2", "2"],
                ["4", "2", "1"],
                ["5", nil, "9"],
                ["6", "9", nil],
                ["7", nil, nil],
            ]
        ),
        OddTable(
            name: "a reference by citext",
            setup: """
                create table hc.p(a citext primary key);
                insert into hc.p values ('A'),('b');
                create table hc.t(id int primary key, a text, b citext references hc.p);
                insert into hc.t values (1,null,null),(2,'2','b');
                """,
            columns: ["id", "a", "b"],
            rows: [
                ["1", "1", "a"],
                ["2", "1", "B"],
                ["3", "2", "c"],
                ["4", "2", " a"],
            ]
        ),
        OddTable(
            name: "a default that refers to nothing",
            setup: """
                create table hc.p(a int primary key);
                insert into hc.p values (1),(2);
                create table hc.t(id int primary key, a int, b int default 0 references hc.p);
                insert into hc.t values (1,null,null),(2,2,2);
                """,
            columns: ["id", "a"],
            rows: [
                ["1", "1"],
                ["2", "3"],
                ["3", "2"],
            ]
        ),
        OddTable(
            name: "references of rows with one key",
            setup: """
                create table hc.p(a int primary key);
                insert into hc.p values (1),(2),(3);
                create table hc.t(id int primary key, f int references hc.p, s text);
                insert into hc.t values (1,1,'a'),(2,null,'b'),(3,3,null);
                """,
            columns: ["id", "f", "s"],
            rows: [
                ["5", "1", "x"],
                ["5", "9", "y"],
                ["1", "9", "q"],
                ["2", "8", "q"],
                ["3", "3", "z"],
                ["3", "7", "z"],
                ["6", "7", "x"],
                ["6", "7", "x"],
                ["6", "1", "x"],
                ["6", "7", "z"],
                ["7", nil, "x"],
                ["7", "9", "x"],
                ["7", "2", "y"],
                ["7", "9", "z"],
            ],
            policies: ["skip", "fill", "update", "replace"]
        ),
        OddTable(
            name: "references of two columns",
            setup: """
                create table hc.p(a int, b int, primary key(a,b));
                insert into hc.p values (1,1),(2,2),(3,3);
                create table hc.t(id int primary key, f int, g int, s text, foreign key (f,g) references hc.p(a,b));
                insert into hc.t values (1,1,1,'a'),(2,null,null,'b'),(3,3,null,null);
                """,
            columns: ["id", "f", "g", "s"],
            rows: [
                ["5", "1", "1", "x"],
                ["5", "9", "1", "y"],
                ["1", "9", "1", "q"],
                ["2", "8", "8", "q"],
                ["3", "3", "3", "z"],
                ["3", "7", "2", "z"],
                ["6", "7", "7", "x"],
                ["6", "7", "7", "x"],
                ["6", "1", "1", "x"],
                ["6", "7", "7", "z"],
                ["7", nil, "1", "x"],
                ["7", "9", "1", "x"],
                ["7", "2", nil, "y"],
                ["7", "9", "1", "z"],
            ],
            policies: ["skip", "fill", "update", "replace"]
        ),
        OddTable(
            name: "a key that refers",
            setup: """
                create table hc.p(a citext primary key);
                insert into hc.p values ('A'),('b');
                create table hc.t(f citext references hc.p primary key, s text);
                insert into hc.t values ('a','a'),('B',null);
                """,
            columns: ["f", "s"],
            rows: [
                ["A", "x"],
                ["b", "y"],
                ["c", "z"],
                ["C", "z"],
                ["B", "z"],
            ],
            policies: ["skip", "fill", "update", "replace"]
        ),
        OddTable(
            name: "keys that cascade",
            setup: """
                create table hc.t(id int primary key, m text unique, v int);
                insert into hc.t values (1,'a',1),(2,'b',2);
                create table hc.c(id int references hc.t on update cascade, m text references hc.t(m));
                insert into hc.c values (1,'a'),(2,'b');
                """,
            columns: ["id", "m", "v"],
            rows: [
                ["11", "a", "5"],
                ["2", "b", "3"],
                ["3", "c", "4"],
                ["2", "d", "4"],
            ],
            key: ["m"],
            policies: ["skip", "fill", "update", "replace"]
        ),
        OddTable(
            name: "an exclusion constraint",
            setup: """
                create table hc.t(id int primary key, v int4range, s text, exclude using gist (v with &&));
                insert into hc.t values (1,'[1,5)','x'),(2,'[10,12)',null);
                """,
            columns: ["id", "v", "s"],
            rows: [
                ["1", "[2,6)", "y"],
                ["3", "[4,7)", "z"],
                ["4", "[20,30)", "a"],
                ["5", "[29,31)", "b"],
                ["6", nil, "q"],
                ["2", "[20,21)", "q"],
            ]
        ),
        OddTable(
            name: "a deferred exclusion constraint",
            setup: """
                create table hc.t(id int primary key, v int4range, s text, exclude using gist (v with &&) deferrable initially deferred);
                insert into hc.t values (1,'[1,5)','x'),(2,'[10,12)',null);
                """,
            columns: ["id", "v", "s"],
            rows: [
                ["1", "[2,6)", "y"],
                ["3", "[4,7)", "z"],
                ["4", "[20,30)", "a"],
                ["5", "[29,31)", "b"],
                ["6", nil, "q"],
                ["2", "[20,21)", "q"],
            ]
        ),
        OddTable(
            name: "several unique indexes",
            setup: """
                create table hc.t(id int primary key, v int unique, s text);
                create unique index on hc.t(lower(s));
                create unique index on hc.t(s) where v>5;
                create unique index on hc.t(v,s) include (id) nulls not distinct;
                insert into hc.t values (1,1,'Old'),(2,4,'n2');
                """,
            columns: ["id", "v", "s"],
            rows: [
                ["1", "7", "OLD"],
                ["2", "7", "n2"],
                ["3", "4", "n3"],
                ["4", "8", "N3"],
                ["5", nil, nil],
                ["6", nil, nil],
                ["7", "70", "n7"],
                ["8", "71", "N7"],
                ["9", "7", "q"],
            ]
        ),
        OddTable(
            name: "a deferred unique constraint",
            setup: """
                create table hc.t(id int primary key, v int unique deferrable initially deferred, s text);
                insert into hc.t values (1,1,'Old'),(2,4,'n2');
                """,
            columns: ["id", "v", "s"],
            rows: [
                ["1", "7", "OLD"],
                ["2", "7", "n2"],
                ["3", "4", "n3"],
                ["4", "8", "N3"],
                ["5", nil, nil],
                ["6", nil, nil],
                ["7", "70", "n7"],
                ["8", "70", "N7"],
                ["9", "7", "q"],
            ]
        ),
        OddTable(
            name: "a key whose NULLs are equal",
            setup: """
                create table hc.t(id int primary key, a int, b int, v int, unique nulls not distinct (a,b));
                insert into hc.t values (1,null,1,10),(2,2,null,null);
                """,
            columns: ["id", "a", "b", "v"],
            rows: [
                ["1", nil, "1", "11"],
                ["2", "2", nil, "5"],
                ["3", "3", "3", "3"],
                ["4", nil, nil, "1"],
                ["4", nil, nil, "2"],
                ["4", nil, nil, "3"],
            ],
            key: ["a", "b"],
            policies: ["skip", "fill", "update", "replace"]
        ),
        OddTable(
            name: "a key whose NULLs are equal, with references",
            setup: """
                create table hc.p(a int primary key);
                insert into hc.p values (1),(2);
                create table hc.t(id int, a int, b int, f int references hc.p, v int, unique nulls not distinct (a,b));
                insert into hc.t values (1,null,1,1,10),(2,2,null,null,null);
                """,
            columns: ["id", "a", "b", "f", "v"],
            rows: [
                ["1", nil, "1", "9", "11"],
                ["2", "2", nil, "2", "5"],
                ["3", "3", "3", "7", "3"],
                ["4", nil, nil, "1", "1"],
                ["4", nil, nil, "9", "2"],
                ["4", nil, nil, "2", "3"],
            ],
            key: ["a", "b"],
            policies: ["skip", "fill", "update", "replace"]
        ),
        OddTable(
            name: "NULL in the key",
            setup: """
                create table hc.t(id serial primary key, a int, b int, v int, unique (a,b));
                insert into hc.t values (101,null,1,10),(102,2,null,null),(103,3,3,1);
                """,
            columns: ["id", "a", "b", "v"],
            rows: [
                ["1", nil, "1", "11"],
                ["2", "2", nil, "5"],
                ["103", "3", "3", "3"],
                ["4", nil, nil, "1"],
                ["5", nil, nil, "2"],
                ["103", "3", "3", "4"],
                ["1", "7", "7", "7"],
            ],
            key: ["a", "b"],
            policies: ["skip", "fill", "update", "replace"]
        ),
    ]

    @Test(arguments: tables)
    func isLoadedAsALoopWouldLoadIt(table: OddTable) async throws {
        try await table.check()
    }
}
