import BulkheadTesting
import Foundation
import Postgres
import Testing

@testable import BulkheadJobs

/// A table with rows for it, loaded in all ways.
///
/// What comes out is what a loop over the rows makes of them: one INSERT ... ON CONFLICT and one
/// subtransaction for each.
struct OddTable: Sendable, CustomTestStringConvertible {
    let name: String
    /// Makes the tables, in the schema `hc`.
    let setup: String
    var table = "hc.t"
    let columns: [String]
    let rows: [[String?]]
    var key: [String]?
    var policies = ["error", "skip", "fill", "update", "replace"]
    var batches = [3, 1000]
    var isLoadedFromJSON = true

    var testDescription: String { name }

    /// One way to load it.
    private struct Way {
        let number: Int
        let policy: String
        let batch: Int
        let isJSON: Bool
        var job: Int64 = 0

        var loaded: String { "loaded\(number)" }
        var expected: String { "expected\(number)" }
    }

    private var ways: [Way] {
        let forms = batches.map { ($0, false) } + (isLoadedFromJSON ? [(1000, true)] : [])
        return policies.flatMap { policy in forms.map { (policy, $0.0, $0.1) } }.enumerated().map {
            Way(number: $0.offset, policy: $0.element.0, batch: $0.element.1, isJSON: $0.element.2)
        }
    }

    /// Loads the rows in every way, and compares.
    func check(_ location: SourceLocation = #_sourceLocation) async throws {
        try await ImportBench.with(Self.reference) { bench in
            try bench.folder.write(csv, to: "in.csv")
            try bench.folder.write(json, to: "in.jsonl")
            var ways: [Way] = []
            for var way in self.ways {
                for schema in [way.loaded, way.expected] {
                    let setup = setup.replacing("hc.", with: "\(schema).")
                    try await bench.database.run(
                        "create schema \(schema); set search_path = \(schema), public; \(setup)"
                    )
                }
                var options =
                    "on_conflict => '\(way.policy)', batch => \(way.batch), max_rejects => 1000000"
                if let key { options += ", key => array['\(key.joined(separator: "','"))']" }
                way.job = try await bench.enqueue(
                    table.replacing("hc.", with: "\(way.loaded)."),
                    files: [way.isJSON ? "in.jsonl" : "in.csv"],
                    options
                )
                ways.append(way)
            }
            try await bench.drain()
            for way in ways { try await compare(way, bench, location) }
        }
    }

    private func compare(_ way: Way, _ bench: ImportBench, _ location: SourceLocation) async throws
    {
        let what = "\(name), \(way.policy), batch \(way.batch)\(way.isJSON ? ", JSON" : "")"
        let input = rows.map { row in row.map { $0.map(Self.literal) ?? "null" } }
            .map { "(array[\($0.joined(separator: ","))]::text[])" }.joined(separator: ",")
        let columns = columns.map(Self.literal).joined(separator: ",")
        let target = table.replacing("hc.", with: "\(way.expected).")
        let key = key.map { "array[\($0.map(Self.literal).joined(separator: ","))]" } ?? "null"
        try await bench.database.run(
            """
            truncate public.input restart identity; insert into public.input (v) values \(input);
            truncate public.outcome;
            set timezone = 'UTC'; set datestyle = 'ISO, YMD';
            insert into public.outcome select * from public.load(
                \(Self.literal(target)), array[\(columns)], '\(way.policy)', \(key)::text[])
            """
        )
        let expected = try await bench.rows("select n, what from public.outcome order by n")
        let job = try await bench.outcome(of: way.job)
        if expected.contains(where: { $0[1] == "conflict" }) {
            #expect(job.sqlstate == "23505", "\(what)", sourceLocation: location)
            return
        }
        #expect(job.state == "completed", "\(what): \(job.error ?? "")", sourceLocation: location)
        let first = way.isJSON ? 0 : csv.count { $0 == "\n" } - rows.count
        #expect(
            job.rejects.map { "\($0.line - first) \($0.sqlstate)" }
                == expected.filter { $0[1]?.count == 5 }.map { "\($0[0] ?? "") \($0[1] ?? "")" },
            "\(what)",
            sourceLocation: location
        )
        func count(_ ending: String) -> Int64 { Int64(expected.count { $0[1] == ending }) }
        let totals = job.totals
        #expect(
            [totals.read, totals.inserted, totals.updated, totals.unchanged + totals.skipped]
                == [Int64(rows.count), count("inserted"), count("updated"), count("nothing")],
            "\(what)",
            sourceLocation: location
        )
        let (loaded, wanted) = (table.replacing("hc.", with: "\(way.loaded)."), target)
        for (one, other) in [(loaded, wanted), (wanted, loaded)] {
            #expect(
                try await bench.rows(
                    """
                    select pg_catalog.row_to_json(whole)::text from \(one) whole except all
                    select pg_catalog.row_to_json(whole)::text from \(other) whole
                    """
                ) == [],
                "\(what): only in \(one)",
                sourceLocation: location
            )
        }
    }

    // MARK: Files

    private var csv: String {
        func line(_ fields: [String?]) -> String {
            fields.map { $0.map { "\"\($0.replacing("\"", with: "\"\""))\"" } ?? "" }
                .joined(separator: ",") + "\n"
        }
        return line(columns) + rows.map(line).joined()
    }

    private var json: String {
        get throws {
            try rows.map { row in
                let object = Dictionary(uniqueKeysWithValues: zip(columns, row))
                return String(decoding: try JSONEncoder().encode(object), as: UTF8.self) + "\n"
            }.joined()
        }
    }

    private static func literal(_ text: String) -> String {
        "'\(text.replacing("'", with: "''"))'"
    }

    // MARK: The loop

    /// `public.load` tells for each row of `public.input` what became of it: inserted, updated, nothing, conflict
    /// (then it stops) or the SQLSTATE for which it is refused.
    private static let reference = #"""
        create extension citext schema public;
        create table public.input (n int generated always as identity, v text[]);
        create table public.outcome (n int, what text);
        create function public.names_of(x pg_index) returns text[] language sql as $$
            select array_agg(a.attname::text order by a.attname::text) from pg_attribute a
            where a.attrelid = x.indrelid and a.attnum = any ((x.indkey::int2[])[0:x.indnkeyatts - 1])
        $$;
        create function public.columns_changed(target regclass, columns text[], policy text, key text[])
        returns text[] language sql as $$
            select array_agg(a.attname::text order by a.attnum) from pg_attribute a
            where a.attrelid = target and a.attnum > 0 and not a.attisdropped and a.attname <> all (key)
                and case policy when 'replace' then a.attgenerated = '' and a.attidentity = ''
                        and pg_get_serial_sequence(target::text, a.attname) is null
                        and not exists (select from pg_index x where x.indrelid = target and x.indisprimary
                            and a.attnum = any (x.indkey))
                    else a.attname = any (columns) end
        $$;
        create function public.statement(target text, columns text[], v text[], policy text, key text[])
        returns text language plpgsql as $$
        declare
            changed text[] := public.columns_changed(target::regclass, columns, policy, key);
            q text := format('insert into %s as old (%s) values (%s)', target,
                (select string_agg(quote_ident(c), ',' order by n) from unnest(columns) with ordinality u (c, n)),
                (select string_agg(quote_nullable(c), ',' order by n) from unnest(v) with ordinality u (c, n)));
        begin
            if policy = 'error' then return q; end if;
            q := format('%s on conflict (%s) do ', q, (select string_agg(quote_ident(c), ',') from unnest(key) c));
            if policy = 'skip' or changed is null then return q || 'nothing'; end if;
            if policy = 'fill' then
                return q || (select format('update set %s where %s',
                    string_agg(format('%1$I = coalesce(old.%1$I, excluded.%1$I)', c), ','),
                    string_agg(format('old.%1$I is not distinct from null and excluded.%1$I is distinct from null', c), ' or '))
                    from unnest(changed) c);
            end if;
            return q || (select format('update set %s where row(%s)::record *<> row(%s)::record',
                string_agg(format('%1$I = excluded.%1$I', c), ','),
                string_agg(format('old.%I', c), ','), string_agg(format('excluded.%I', c), ','))
                from unnest(changed) c);
        end $$;
        create function public.load(target text, columns text[], policy text, named text[])
        returns table (n int, what text) language plpgsql as $$
        declare
            one record;
            key text[] := coalesce(named, (select public.names_of(x) from pg_index x
                where x.indrelid = target::regclass and x.indisprimary), '{}');
            before bigint; after bigint; affected int; violated text; place text;
        begin
            for one in select * from public.input order by input.n loop
                n := one.n;
                begin
                    execute format('select count(*) from %s', target) into before;
                    execute public.statement(target, columns, one.v, policy, key);
                    get diagnostics affected = row_count;
                    set constraints all immediate;
                    set constraints all deferred;
                    execute format('select count(*) from %s', target) into after;
                    what := case when affected = 0 then 'nothing' when after > before then 'inserted' else 'updated' end;
                exception when others then
                    get stacked diagnostics what = returned_sqlstate, violated = constraint_name, place = schema_name;
                    if what = '23505' and policy = 'error' and exists (
                        select from pg_index x join pg_class c on c.oid = x.indexrelid
                        where c.relname = violated and c.relnamespace::regnamespace::text = place
                            and x.indpred is null and x.indexprs is null
                            and public.names_of(x) = (select array_agg(k order by k) from unnest(key) k)) then
                        what := 'conflict';
                        return next;
                        return;
                    end if;
                end;
                return next;
            end loop;
        end $$;
        """#
}
