import Testing

/// Partitions, heirs and columns that are not as they look.
@Suite struct OddShapeTests {
    static let tables: [OddTable] = [
        OddTable(
            name: "list partitions",
            setup: """
                create table hc.t(id int, k int, v int, s text, primary key(id,k)) partition by list(k);
                create table hc.t1 partition of hc.t for values in (1,2);
                create table hc.td partition of hc.t default;
                insert into hc.t values (1,1,null,'o'),(2,2,4,'n2'),(3,9,9,null);
                """,
            columns: ["id", "k", "v", "s"],
            rows: [
                ["1", "1", "1", "n1"],
                ["2", "2", "2", "n2"],
                ["3", "9", "3", "n3"],
                ["4", "1", "4", "n4"],
                ["5", "7", "5", "n5"],
                ["1", "2", "1", "n1"],
                ["3", "9", "3", "n3"],
            ]
        ),
        OddTable(
            name: "hash partitions",
            setup: """
                create table hc.t(id int, k int, v int, s text, primary key(id,k)) partition by hash(id);
                create table hc.t1 partition of hc.t for values with (modulus 2, remainder 0);
                create table hc.td partition of hc.t for values with (modulus 2, remainder 1);
                insert into hc.t values (1,1,null,'o'),(2,2,4,'n2'),(3,9,9,null);
                """,
            columns: ["id", "k", "v", "s"],
            rows: [
                ["1", "1", "1", "n1"],
                ["2", "2", "2", "n2"],
                ["3", "9", "3", "n3"],
                ["4", "1", "4", "n4"],
                ["5", "7", "5", "n5"],
                ["1", "2", "1", "n1"],
                ["3", "9", "3", "n3"],
            ]
        ),
        OddTable(
            name: "nested partitions",
            setup: """
                create table hc.t(id int, k int, v int, s text, primary key(id,k)) partition by range(id);
                create table hc.t1 partition of hc.t for values from (0) to (5) partition by list(k);
                create table hc.t1a(s text, junk int, k int not null, v int, id int not null);
                alter table hc.t1a drop column junk;
                alter table hc.t1 attach partition hc.t1a for values in (1,2);
                create table hc.t1d partition of hc.t1 default;
                create table hc.t2 partition of hc.t for values from (5) to (8);
                insert into hc.t values (1,1,null,'o'),(2,2,4,'n2'),(3,9,9,null);
                """,
            columns: ["id", "k", "v", "s"],
            rows: [
                ["1", "1", "1", "n1"],
                ["2", "2", "2", "n2"],
                ["3", "9", "3", "n3"],
                ["4", "1", "4", "n4"],
                ["5", "7", "5", "n5"],
                ["1", "2", "1", "n1"],
                ["3", "9", "3", "n3"],
                ["8", "1", "8", "n8"],
                ["7", "7", "7", "n7"],
            ]
        ),
        OddTable(
            name: "a partition that has partitions",
            setup: """
                create table hc.t(id int, k int, v int, s text, primary key(id,k)) partition by range(id);
                create table hc.t1 partition of hc.t for values from (0) to (5) partition by list(k);
                create table hc.t1a(s text, junk int, k int not null, v int, id int not null);
                alter table hc.t1a drop column junk;
                alter table hc.t1 attach partition hc.t1a for values in (1,2);
                create table hc.t1d partition of hc.t1 default;
                create table hc.t2 partition of hc.t for values from (5) to (8);
                insert into hc.t values (1,1,null,'o'),(2,2,4,'n2'),(3,9,9,null);
                """,
            table: "hc.t1",
            columns: ["id", "k", "v", "s"],
            rows: [
                ["1", "1", "1", "n1"],
                ["2", "2", "2", "n2"],
                ["3", "9", "3", "n3"],
                ["4", "1", "4", "n4"],
                ["5", "7", "5", "n5"],
                ["1", "2", "1", "n1"],
                ["3", "9", "3", "n3"],
                ["8", "1", "8", "n8"],
                ["7", "7", "7", "n7"],
            ]
        ),
        OddTable(
            name: "one partition",
            setup: """
                create table hc.t(id int, k int, v int, s text, primary key(id,k)) partition by range(id);
                create table hc.t1 partition of hc.t for values from (0) to (5) partition by list(k);
                create table hc.t1a(s text, junk int, k int not null, v int, id int not null);
                alter table hc.t1a drop column junk;
                alter table hc.t1 attach partition hc.t1a for values in (1,2);
                create table hc.t1d partition of hc.t1 default;
                create table hc.t2 partition of hc.t for values from (5) to (8);
                insert into hc.t values (1,1,null,'o'),(2,2,4,'n2'),(3,9,9,null);
                """,
            table: "hc.t1a",
            columns: ["id", "k", "v", "s"],
            rows: [
                ["1", "1", "1", "n1"],
                ["2", "2", "2", "n2"],
                ["3", "9", "3", "n3"],
                ["4", "1", "4", "n4"],
                ["5", "7", "5", "n5"],
                ["1", "2", "1", "n1"],
                ["3", "9", "3", "n3"],
                ["8", "1", "8", "n8"],
                ["7", "7", "7", "n7"],
            ]
        ),
        OddTable(
            name: "rows that leave their partition",
            setup: """
                create table hc.t(id int, k int, v int, s text) partition by list(k);
                create table hc.t1 partition of hc.t for values in (1,2);
                create table hc.td partition of hc.t default;
                create unique index on hc.t1(id);
                insert into hc.t values (1,1,null,'o'),(2,2,4,'n2'),(3,9,9,null);
                """,
            table: "hc.t1",
            columns: ["id", "k", "v", "s"],
            rows: [
                ["1", "2", "1", "n1"],
                ["2", "9", "2", "n2"],
                ["4", "1", "4", "n4"],
                ["5", "9", "5", "n5"],
            ],
            key: ["id"],
            policies: ["skip", "fill", "update", "replace"]
        ),
        OddTable(
            name: "a table with heirs",
            setup: """
                create table hc.t(id int primary key, v int, s text);
                insert into hc.t values (1,null,'old'),(2,4,'n2'),(3,3,null);
                create table hc.kid(extra int) inherits (hc.t);
                insert into hc.kid values (4,4,'kid',1);
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
            name: "an heir",
            setup: """
                create table hc.t(id int primary key, v int, s text);
                insert into hc.t values (1,null,'old'),(2,4,'n2'),(3,3,null);
                create table hc.kid(extra int, primary key(id)) inherits (hc.t);
                insert into hc.kid values (4,4,'kid',1),(1,null,'q',2);
                """,
            table: "hc.kid",
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
            name: "dropped columns",
            setup: """
                create table hc.t(x int, id int primary key, y int, v int, z text, s text);
                alter table hc.t drop column x, drop column y, drop column z;
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
                ["9", "x", "1"],
            ]
        ),
        OddTable(
            name: "no key",
            setup: """
                create table hc.t(id int, v int, s text);
                insert into hc.t values (1,null,'old');
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
                ["x", "1", "1"],
            ],
            policies: ["error"]
        ),
        OddTable(
            name: "columns named as ours are",
            setup: """
                create table hc.t(id int primary key,"excluded" int,"bulkhead_t" int,"bulkhead_n" int,"s" int,"n" int,"mark" int,"part" int,"key" int,"t" int,"u" int,"found" int,"missing" int,"m" int,"b" int,"bulkhead_c1" int,"bulkhead_c2" int,"bulkhead_stored" int,"o" int,"r" int,"named" int,"bulkhead_missing" int, check (s<>5));
                insert into hc.t(id,s) values (1,1),(2,null);
                """,
            columns: [
                "id", "excluded", "bulkhead_t", "bulkhead_n", "s", "n", "mark", "part", "key", "t",
                "u", "found", "missing", "m", "b", "bulkhead_c1", "bulkhead_c2", "bulkhead_stored",
                "o", "r", "named", "bulkhead_missing",
            ],
            rows: [
                [
                    "1", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14",
                    "15", "16", "17", "18", "19", "20", "21",
                ],
                [
                    "2", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15",
                    "16", "17", "18", "19", "20", "21", "22",
                ],
                [
                    "3", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15",
                    "16", "17", "18", "19", "20", "21", "22", "23",
                ],
                [
                    "4", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16",
                    "17", "18", "19", "20", "21", "22", "23", "24",
                ],
                [
                    "5", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17",
                    "18", "19", "20", "21", "22", "23", "24", "25",
                ],
                [
                    "9", "x", "x", "x", "x", "x", "x", "x", "x", "x", "x", "x", "x", "x", "x", "x",
                    "x", "x", "x", "x", "x", "x",
                ],
            ]
        ),
    ]

    @Test(arguments: tables)
    func isLoadedAsALoopWouldLoadIt(table: OddTable) async throws {
        try await table.check()
    }
}
