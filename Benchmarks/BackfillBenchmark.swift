import Foundation
import Postgres
import PostgresServer

/// A backfill beside one UPDATE that changes the same rows and writes the same change rows.
struct BackfillBenchmark {
    let program: String
    let flights: String
    private let rows = setting("BULKHEAD_BENCH_ROWS", 3_000_000)
    private let rounds = setting("BULKHEAD_BENCH_ROUNDS", 3)

    private static let file = """
        -- bulkhead: backfill flights until km is not null
        update flights set km = distance * 1.609 where km is null and {batch};
        """
    private static let oneUpdate = """
        with changed as (update flights set km = distance * 1.609 where km is null returning id)
        insert into bulkhead.change (relation, operation, ids)
        select 'public.flights', 'update', ('[' || string_agg(to_json(id::text)::text, ',') || ']')::jsonb
        from (select id, (row_number() over () - 1) / 10000 as part from changed) as k group by part
        """

    func run() async throws {
        try await FlightsServer.with(program) { server in
            print("backfill: \(rows) rows made from \(flights), \(rounds) rounds")
            try await makeTemplate("flights", rows, server)
            var comparison = Comparison("backfill, beside one UPDATE", goal: 0.6)
            for round in 1...rounds {
                let base = try server.withCopy(of: "flights") { database in
                    try server.psql(Self.oneUpdate, in: database)
                }
                let (child, seconds, batches) = try backfill("flights", rows, server)
                comparison.add(base: base, child)
                print(
                    "  round \(round): UPDATE \(figure(base.seconds)) s, backfill \(figure(child.seconds)) s "
                        + "(\(figure(seconds)) s of it the job), \(batches) batches, every id once in the feed"
                )
            }
            comparison.report(rows)
            try await growth(server)
        }
    }

    private func makeTemplate(_ name: String, _ rows: Int, _ server: FlightsServer) async throws {
        try await server.makeTemplate(name, rows: rows, from: flights)
        try server.psql("alter table flights add column km int", in: name)
    }

    private func backfill(_ template: String, _ rows: Int, _ server: FlightsServer) throws -> (
        Child, Double, Int
    ) {
        try server.withCopy(of: template) { database in
            try server.enqueueMigration(["0001_km.sql": Self.file], in: database)
            let child = try server.drain(database)
            let row = try server.session(database).query(
                """
                select extract(epoch from finished_at - started_at)::float8, batches, (
                    select count(*) = \(rows) and count(distinct key) = \(rows)
                    from bulkhead.change, jsonb_array_elements_text(ids) as e (key)
                    where relation = 'public.flights' and operation = 'update')
                from bulkhead.job where state = 'completed'
                """
            )
            guard !row.isEmpty, try row.required(0, 2, as: Bool.self) else {
                throw NotMeasured(
                    "the backfill did not complete, or its feed is not that of the rows"
                )
            }
            return (child, try row.required(0, 0), try row.required(0, 1))
        }
    }

    private func growth(_ server: FlightsServer) async throws {
        var perRow: [Double] = []
        for factor in [1, 2, 4] {
            let rows = factor * rows / 3
            try await makeTemplate("flights_\(factor)", rows, server)
            let times = try (1...rounds).map { _ in
                try backfill("flights_\(factor)", rows, server).1 / Double(rows) * 1e6
            }
            perRow.append(times.median)
            print("  \(rows) rows: \(figure(times.median)) µs a row")
        }
        let spread = (perRow.max() ?? 0) / (perRow.min() ?? 1) - 1
        print(
            "backfill, growth: time a row differs by \(figure(spread * 100, 0)) % from 1x to 4x the rows"
        )
    }
}
