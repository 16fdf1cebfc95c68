import Testing

/// Triggers that drop rows, change them, refuse some or write elsewhere.
@Suite struct OddTriggerTests {
    static let tables: [OddTable] = [
        OddTable(
            name: "rows dropped before they are inserted",
            setup: """
                create table hc.t(id int primary key, v int, s text);
                insert into hc.t values (1,null,'old'),(2,4,'n2'),(3,3,null);
                create function hc.f() returns trigger language plpgsql as $$ begin if new.id%2=0 then return null; end if; return new; end $$;
                create trigger f before insert on hc.t for each row execute function hc.f();
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
            name: "keys changed before the insert",
            setup: """
                create table hc.t(id int primary key, v int, s text);
                insert into hc.t values (1,null,'old'),(2,4,'n2'),(3,3,null);
                create function hc.f() returns trigger language plpgsql as $$ begin if new.id>4 then new.id:=new.id-4; end if; return new; end $$;
                create trigger f before insert on hc.t for each row execute function hc.f();
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
            name: "a column emptied before the update",
            setup: """
                create table hc.t(id int primary key, v int, s text);
                insert into hc.t values (1,null,'old'),(2,4,'n2'),(3,3,null);
                create function hc.f() returns trigger language plpgsql as $$ begin new.v:=null; return new; end $$;
                create trigger f before update on hc.t for each row execute function hc.f();
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
            name: "updates dropped",
            setup: """
                create table hc.t(id int primary key, v int, s text);
                insert into hc.t values (1,null,'old'),(2,4,'n2'),(3,3,null);
                create function hc.f() returns trigger language plpgsql as $$ begin return null; end $$;
                create trigger f before update on hc.t for each row execute function hc.f();
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
            name: "an update refused",
            setup: """
                create table hc.t(id int primary key, v int, s text);
                insert into hc.t values (1,null,'old'),(2,4,'n2'),(3,3,null);
                create function hc.f() returns trigger language plpgsql as $$ begin if new.id=2 then raise 'no' using errcode='P0001'; end if; return new; end $$;
                create trigger f before update on hc.t for each row execute function hc.f();
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
                ["2", "77", "x"],
            ]
        ),
        OddTable(
            name: "an exception after the insert",
            setup: """
                create table hc.t(id int primary key, v int, s text);
                insert into hc.t values (1,null,'old'),(2,4,'n2'),(3,3,null);
                create function hc.f() returns trigger language plpgsql as $$ begin if new.id=6 then raise 'no' using errcode='22000'; end if; return new; end $$;
                create trigger f after insert on hc.t for each row execute function hc.f();
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
            name: "a statement trigger",
            setup: """
                create table hc.t(id int primary key, v int, s text);
                insert into hc.t values (1,null,'old'),(2,4,'n2'),(3,3,null);
                create function hc.f() returns trigger language plpgsql as $$ begin return null; end $$;
                create trigger f after insert or update on hc.t for each statement execute function hc.f();
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
            name: "a statement trigger that raises",
            setup: """
                create table hc.t(id int primary key, v int, s text);
                insert into hc.t values (1,null,'old'),(2,4,'n2'),(3,3,null);
                create function hc.f() returns trigger language plpgsql as $$ begin if exists (select from nt where id=5) then raise 'stm'; end if; return null; end $$;
                create trigger f after insert on hc.t referencing new table as nt for each statement execute function hc.f();
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
            name: "a deferred constraint trigger",
            setup: """
                create table hc.t(id int primary key, v int, s text);
                insert into hc.t values (1,null,'old'),(2,4,'n2'),(3,3,null);
                create function hc.f() returns trigger language plpgsql as $$ begin if new.id in (3,5) then raise 'late' using errcode='23000'; end if; return null; end $$;
                create constraint trigger f after insert or update on hc.t deferrable initially deferred for each row execute function hc.f();
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
            name: "keys changed before the update",
            setup: """
                create table hc.t(id int primary key, v int, s text);
                insert into hc.t values (1,null,'old'),(2,4,'n2'),(3,3,null);
                create function hc.f() returns trigger language plpgsql as $$ begin new.id := new.id + 100; return new; end $$;
                create trigger f before update on hc.t for each row execute function hc.f();
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
            name: "a view with an INSTEAD OF trigger",
            setup: """
                create table hc.t(id int primary key, v int, s text);
                insert into hc.t values (1,null,'old'),(2,4,'n2'),(3,3,null);
                create view hc.w as select id, v, s from hc.t;
                create function hc.f() returns trigger language plpgsql as $$ begin if new.id=5 then return null; end if; if new.id=6 then raise 'six'; end if; insert into hc.t values (new.id+10,new.v,new.s); return new; end $$;
                create trigger f instead of insert on hc.w for each row execute function hc.f();
                """,
            table: "hc.w",
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
                ["9", "x", "y"],
            ],
            policies: ["error"]
        ),
        OddTable(
            name: "keys changed in a partitioned table",
            setup: """
                create table hc.t(id int, k int, v int, s text, primary key(id,k)) partition by list(k);
                create table hc.t1 partition of hc.t for values in (1,2);
                create table hc.td partition of hc.t default;
                insert into hc.t values (1,1,null,'o'),(2,2,4,'n2'),(3,9,9,null);
                create function hc.f() returns trigger language plpgsql as $$ begin if new.id>4 then new.id:=new.id-4; end if; return new; end $$;
                create trigger f before insert on hc.t for each row execute function hc.f();
                """,
            columns: ["id", "k", "v", "s"],
            rows: [
                ["4", "1", "4", "n4"],
                ["5", "1", "5", "n5"],
                ["6", "2", "6", "n6"],
                ["7", "9", "7", "n7"],
                ["8", "9", "8", "n8"],
            ]
        ),
    ]

    @Test(arguments: tables)
    func isLoadedAsALoopWouldLoadIt(table: OddTable) async throws {
        try await table.check()
    }
}
