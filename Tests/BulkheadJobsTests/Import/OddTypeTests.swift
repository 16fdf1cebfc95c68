import Testing

/// Types whose values and equality are their own.
@Suite struct OddTypeTests {
    static let tables: [OddTable] = [
        OddTable(
            name: "domains",
            setup: """
                create domain hc.d as int check (value<>10) default 7;
                create domain hc.nn as text not null;
                create table hc.t(id int primary key, v hc.d, s hc.nn, z hc.d);
                insert into hc.t values (1,null,'old',1),(2,4,'n2',9);
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
                ["20", "1", nil],
            ]
        ),
        OddTable(
            name: "a domain as key",
            setup: """
                create domain hc.d as text check (value<>'10');
                create table hc.t(id hc.d primary key, v hc.d, s text);
                insert into hc.t values ('1',null,'old'),('2','4','n2');
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
                ["10", "2", "x"],
            ]
        ),
        OddTable(
            name: "an enum",
            setup: """
                create type hc.e as enum ('n1','n2','n3','n5');
                create table hc.t(id int primary key, v int, s hc.e);
                insert into hc.t values (1,null,'n1'),(2,4,null);
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
            name: "an enum as key",
            setup: """
                create type hc.e as enum ('n1','n2','n3','n5');
                create table hc.t(id int, v int, s hc.e primary key);
                insert into hc.t values (1,null,'n1'),(2,4,'n2');
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
            name: "arrays",
            setup: """
                create table hc.t(id int primary key, v int[], s text[]);
                insert into hc.t values (1,null,'{a}'),(2,'{4}',null);
                """,
            columns: ["id", "v", "s"],
            rows: [
                ["1", "{1,2}", "{a,b}"],
                ["2", "{4}", #"{"x y",NULL}"#],
                ["3", "{1", "{}"],
                ["4", "{x}", "{}"],
                ["5", "{{1},{2}}", #"{"a\"b"}"#],
            ]
        ),
        OddTable(
            name: "ranges",
            setup: """
                create table hc.t(id int4range primary key, v int4multirange, s numrange);
                insert into hc.t values ('[1,3]',null,'[1,2)'),('[5,6)','{[1,2)}',null);
                """,
            columns: ["id", "v", "s"],
            rows: [
                ["[1,4)", "{[1,2)}", "[3,4)"],
                ["[5,6)", "{[1,2)}", "empty"],
                ["(1,1)", "{}", nil],
                ["[9,1]", "{}", nil],
                ["[10,12]", "{[1,3),[2,5)}", "(,)"],
            ]
        ),
        OddTable(
            name: "composite types",
            setup: """
                create type hc.c as (a int, b text);
                create table hc.t(id int primary key, v hc.c, s hc.c[]);
                insert into hc.t values (1,null,null),(2,'(4,x)',null),(3,'(,)',null),(4,'(1,)','{}');
                """,
            columns: ["id", "v", "s"],
            rows: [
                ["1", "(1,b)", #"{"(1,a)"}"#],
                ["2", "(4,x)", nil],
                ["3", "(7,q)", nil],
                ["4", "(1,2,3)", nil],
                ["5", "(x,)", nil],
                ["6", "(,)", #"{"(,)"}"#],
                ["4", "(,)", nil],
            ]
        ),
        OddTable(
            name: "a composite key column",
            setup: """
                create type hc.c as (a int, b text);
                create table hc.t(id hc.c primary key, v int);
                insert into hc.t values ('(1,a)',null),('(2,b)',4);
                """,
            columns: ["id", "v"],
            rows: [
                ["(1,a)", "5"],
                ["(2,b)", "4"],
                ["(2,c)", "4"],
                ["(2,c)", "5"],
                ["(,)", "5"],
            ]
        ),
        OddTable(
            name: "a citext key",
            setup: """
                create table hc.t(id citext primary key, v int, s text);
                insert into hc.t values ('A',null,'old'),('b',4,'n2');
                """,
            columns: ["id", "v", "s"],
            rows: [
                ["a", "1", "x"],
                ["B", "4", "n2"],
                ["c", "1", "x"],
                ["C", "2", "y"],
                ["d", "q", "y"],
            ]
        ),
        OddTable(
            name: "a nondeterministic collation",
            setup: """
                create collation hc.bl (provider=icu, locale='und-u-ks-level2', deterministic=false);
                create table hc.t(id text collate hc.bl primary key, v int, s text collate "C");
                insert into hc.t values ('A',null,'old'),('b',4,'n2');
                """,
            columns: ["id", "v", "s"],
            rows: [
                ["a", "1", "x"],
                ["B", "4", "n2"],
                ["c", "1", "x"],
                ["C", "2", "y"],
                ["d", "q", "y"],
            ]
        ),
        OddTable(
            name: "types with modifiers",
            setup: """
                create table hc.t(id varchar(3) primary key, v numeric(4,1), s char(4), b bit(3), i interval(0), ts timestamp(0));
                insert into hc.t values ('1',1,'old','101','1s','2020-01-01'),('2',null,null,null,null,null);
                """,
            columns: ["id", "v", "s", "b", "i", "ts"],
            rows: [
                ["1", "2.25", "x", "111", "1.6s", "2020-01-01 00:00:00.6"],
                ["2", "4.04", "ab   ", "111", nil, nil],
                ["3333", "1", "", "000", nil, nil],
                ["3  ", "10000", "", "000", nil, nil],
                ["4", "1", "abcde", "000", nil, nil],
                ["5", "1", "", "0000", nil, nil],
                ["6", "1", "abcd  ", "000", "x", nil],
                ["7", "-1e2", "abcd  ", "000", "1", "infinity"],
                ["abc    ", "1", "abcd  ", "000", "1", "infinity"],
            ]
        ),
        OddTable(
            name: "json, xml, point and bytea",
            setup: #"""
                create table hc.t(id int primary key, v json, s jsonb, x xml, p point, b bytea);
                insert into hc.t values (1,'1','1',null,'(1,2)',null),(2,null,'{"a": 1}','<a/>',null,'\x01');
                """#,
            columns: ["id", "v", "s", "x", "p", "b"],
            rows: [
                ["1", "1", "1", "<b/>", "(1,2)", #"\x02"#],
                ["2", #"{"a":1}"#, #"{"a":1}"#, "<a>", "(1,2)", nil],
                ["3", "{", "1", "<a/>", "(1", #"\x0"#],
                ["4", "1", #"{"a":1,"a":2}"#, "<a/>", "1,2", #"\001a\\"#],
            ],
            isLoadedFromJSON: false
        ),
        OddTable(
            name: "a generated column",
            setup: """
                create table hc.t(id int primary key, v int, s text, g text generated always as (s||v) stored, check (g <> 'n510'));
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
            name: "an identity column that is left out",
            setup: """
                create table hc.t(id int generated always as identity primary key, v int unique, s text);
                insert into hc.t(v,s) values (2,null),(4,'n2');
                """,
            columns: ["v", "s"],
            rows: [
                ["2", "n1"],
                ["4", "n2"],
                ["6", "n3"],
                ["8", "n4"],
                ["10", "n5"],
                ["12", "n6"],
                ["14", "n7"],
                ["16", "n8"],
            ],
            key: ["v"]
        ),
        OddTable(
            name: "an identity column that is filled",
            setup: """
                create table hc.t(id int generated by default as identity primary key, v int, s text);
                insert into hc.t values (1,2,null),(2,4,'n2');
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
            name: "a serial column that is filled",
            setup: """
                create table hc.t(id serial primary key, v int, s text);
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
    ]

    @Test(arguments: tables)
    func isLoadedAsALoopWouldLoadIt(table: OddTable) async throws {
        try await table.check()
    }
}
