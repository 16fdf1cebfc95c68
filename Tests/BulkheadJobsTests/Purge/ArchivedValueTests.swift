import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

/// Every value comes back byte for byte, through a table and through a file.
@Suite struct ArchivedValueTests {
    private static let places = ["hc.kept", "kept.jsonl.gz"]

    private func comesBack(
        _ setup: String,
        _ archive: String,
        table: String = "hc.t"
    ) async throws {
        try await PurgeBench.with("create schema hc; " + setup) { bench in
            // What a database says of the form of values must not matter.
            try await bench.database.run(
                """
                do $$ begin
                    execute format('alter database %I set extra_float_digits = 0', current_database());
                    execute format('alter database %I set intervalstyle = sql_standard', current_database());
                    execute format('alter database %I set datestyle = german', current_database());
                    execute format('alter database %I set bytea_output = escape', current_database());
                    execute format('alter database %I set timezone = ''Asia/Tokyo''', current_database());
                end $$
                """
            )
            let whole = "(select record_send(t) as bytes from \(table) t)"
            let before = try await bench.checksum(whole)
            let count = try await bench.value("select count(*) from \(table)")
            let purge = try await bench.purge(
                table,
                "all_rows => true, archive => '\(archive)', batch => 2"
            )
            #expect(purge.state == "completed", "\(purge.error ?? "")")
            #expect(try await bench.value("select count(*) from \(table)") == "0")
            #expect(
                try await bench.value("select coalesce(sum(rows), 0) from bulkhead.archive_block")
                    == count
            )
            guard count != "0" else { return }
            let back = try await bench.restore(purge.id)
            #expect(back.state == "completed", "\(back.error ?? "")")
            #expect(try await bench.checksum(whole) == before)
        }
    }

    @Test(arguments: places)
    func valuesOfOddTypes(archive: String) async throws {
        let setup = #"""
            create extension hstore schema public; create extension citext schema public;
            create type hc.pair as (a int, b text, c char(4));
            create type hc.mood as enum ('ok', 'it''s "bad"');
            create domain hc.short as varchar(5) check (value <> 'no');
            create domain hc.list as int[] check (array_length(value, 1) > 0);
            create table hc.t (
                id int primary key, j json, jb jsonb, arr int[], text_arr text[], p hc.pair, ps hc.pair[], mood hc.mood,
                s hc.short, l hc.list, r int4range, mr datemultirange, tr tstzrange, h public.hstore, c public.citext,
                b bytea, n numeric, n2 numeric(60, 20), f float8, f4 float4, d date, ts timestamp, tz timestamptz, tm time,
                ttz timetz, i interval, bits bit(5), vb bit varying, ip inet, net cidr, mac macaddr, u uuid, ch char(6),
                bp bpchar, q "char", nm name, m money, pt point, poly polygon, ln pg_lsn, tsv tsvector, jp jsonpath,
                o oid, bo bool, x xid8);
            insert into hc.t values
                (1, E'{"a" :  [1,\t2 ], "a": 3}', '{"b": 1.10, "a": "\u00e9"}', '[0:1]={1,2}', '{"a b",NULL,"","\"q\\"}',
                    row(1, E'x,"y"\n', 'ab'), array[row(null, '', null)::hc.pair], 'it''s "bad"', 'yes', '[5:5]={7}',
                    '[1,5)', '{[2020-01-01,2020-02-01),[2021-01-01,infinity)}', '(,2020-01-01 00:00:00.123456+00]',
                    'a=>1, "b c"=>NULL', 'CaseD', '\x00ff5c0a', 'NaN', 1234567890123456789012345678901234567890.01234567890123456789,
                    'NaN', '1e-45', 'infinity', '-infinity', '294276-12-31 23:59:59.999999+00', '24:00:00',
                    '23:59:59.999999-15:59', '-1 mon +2 days -03:04:05.678', '10101', '', '::1/128', '10.0.0.0/8',
                    '08:00:2b:01:02:03', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'a  ', 'b  ', E'\\303', 'name', -12.34,
                    '(1e300,-0)', '((0,0),(1,1e-300))', '16/B374D848', 'a:1A b:2', '$."a"[*] ? (@ > 1)', 4294967295, true,
                    '18446744073709551615'),
                (2, 'null', 'null', '{}', '{}', null, '{}', null, null, null, 'empty', '{}', 'empty', '', '', '', '-Infinity', 0,
                    '-0', '-0', '4713-01-01 BC', '4713-01-01 00:00:00 BC', '-infinity', '00:00', '00:00+15:59', '0', '00000', '1',
                    '192.168.0.1', '::/0', 'ff:ff:ff:ff:ff:ff', '00000000-0000-0000-0000-000000000000', '', '', '', '', 0,
                    '(NaN,Infinity)', '((1,2))', '0/0', '', '$', 0, false, '0'),
                (3, '"\\u0000 \u2028"', '[]', '{{1,2},{3,NULL}}', array[E'\\', E'\n', '🙂', ',', '{}'], row(null, null, null), null, 'ok',
                    '🙂', '{1}', '(,)', null, '(,)', '"\"\\"=>"=>"', 'ß', '\xdeadbeef', 1e-300, -1e-20, 1.7976931348623157e308,
                    3.4028235e38, '5874897-12-31', 'infinity', 'infinity', '12:34:56.000001', '12:34:56+00', '178000000 years', '11111',
                    '101', 'fe80::1/64', '2001:db8::/32', '00:00:00:00:00:01', null, E'\\\'"', E' \t', 'x', 'a b', 92233720368547758.07,
                    '(0.1,0.30000000000000004)', null, 'FFFFFFFF/FFFFFFFF', null, null, 1, null, null);
            insert into hc.t (id) values (4), (5);
            """#
        try await comesBack(setup, archive)
    }

    @Test(arguments: places)
    func columnsOfOddSorts(archive: String) async throws {
        let setup = #"""
            create table hc."a ""Table""" (
                "Id" bigint generated always as identity primary key, "it's" text default 'd', "a ""b""" text,
                twice int generated always as (size * 2) stored, size int, "select" text, "über.col" text, "$1" text,
                "back\slash" text);
            insert into hc."a ""Table""" ("it's", "a ""b""", size, "select", "über.col", "$1", "back\slash")
            select E'a\\b\n\t' || g, repeat('"', g), g, null, '🙂' || g, E'\\N', E'\\.' from generate_series(1, 7) g;
            alter table hc."a ""Table""" drop column "$1"
            """#
        try await comesBack(setup, archive, table: #"hc."a ""Table""""#)
    }

    @Test(arguments: places)
    func aHundredAndTwentyColumns(archive: String) async throws {
        let columns = (1...120).map { "c\($0) text default '\($0)'" }.joined(separator: ", ")
        try await comesBack(
            "create table hc.t (id int primary key, \(columns)); insert into hc.t (id) select generate_series(1, 5)",
            archive
        )
    }

    @Test(arguments: places)
    func anEmptyTable(archive: String) async throws {
        try await comesBack("create table hc.t (id int primary key)", archive)
    }

    @Test(arguments: places)
    func aVeryLongText(archive: String) async throws {
        try await comesBack(
            """
            create table hc.t (id int primary key, v text);
            insert into hc.t select g, repeat(E'x\\\\"\\n🙂' || g, 3500000) from generate_series(1, 1) g
            """,
            archive
        )
    }
}
