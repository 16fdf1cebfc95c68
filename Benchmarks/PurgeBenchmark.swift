import Foundation
import Postgres
import PostgresServer

/// `bulkhead purge` beside one DELETE that deletes the same rows and writes the same change rows.
struct PurgeBenchmark {
    let program: String
    let flights: String
    private let rows = setting("BULKHEAD_BENCH_ROWS", 3_000_000)
    private let rounds = setting("BULKHEAD_BENCH_ROUNDS", 3)

    /// A purge as a whole, and what its job says.
    private struct Purged {
        let child: Child
        /// From the job's start to its end.
        let seconds: Double
        let deleted: Int
        let batches: Int
        let way: String
        /// Of the ids in the feed.
        let checksum: String
    }

    func run() async throws {
        try await FlightsServer.with(program) { server in
            print("purge: half of \(rows) rows made from \(flights), \(rounds) rounds")
            try await server.makeTemplate("flights", rows: rows, from: flights)
            var comparisons = [
                (
                    condition: "id % 2 = 0",
                    Comparison("purge without an index, beside one DELETE", goal: 0.6)
                ),
                (
                    condition: "id <= \(rows / 2)",
                    Comparison("purge by an index, beside one DELETE", goal: 0.6)
                ),
            ]
            for round in 1...rounds {
                for n in comparisons.indices {
                    let condition = comparisons[n].condition
                    let (base, ids) = try deleteAtOnce(condition, server)
                    let purged = try purge(condition, "flights", server)
                    guard purged.checksum == ids else {
                        throw NotMeasured(
                            "the feed of the purge names other ids than the one DELETE"
                        )
                    }
                    comparisons[n].1.add(base: base, purged.child)
                    print(
                        "  round \(round), \(condition): DELETE \(figure(base.seconds)) s, purge "
                            + "\(figure(purged.child.seconds)) s, \(purged.batches) batches \(purged.way), same ids"
                    )
                }
            }
            for comparison in comparisons { comparison.1.report(rows / 2) }
            try await growth(server)
        }
    }

    private func deleteAtOnce(_ condition: String, _ server: FlightsServer) throws -> (
        Child, String
    ) {
        try server.withCopy(of: "flights") { database in
            let child = try server.psql(FlightsServer.oneDelete(condition), in: database)
            return (child, try checksum(server.session(database)))
        }
    }

    private func purge(_ condition: String, _ template: String, _ server: FlightsServer) throws
        -> Purged
    {
        try server.withCopy(of: template) { database in
            try server.enqueuePurge(condition, in: database)
            let child = try Child.run(
                program,
                ["worker", "--drain", "--log-level", "warning"],
                environment: ["BULKHEAD_DATABASE_URL": server.server.url(database: database)]
            )
            let connection = try server.session(database)
            let row = try connection.query(
                """
                select extract(epoch from finished_at - started_at)::float8, (result ->> 'deleted')::bigint, batches,
                    case when exists (select from pg_stat_all_indexes x
                        where x.relname = 'flights' and x.idx_scan > 5) then 'by the index' else 'by pages' end
                from bulkhead.job where state = 'completed'
                """
            )
            guard !row.isEmpty else { throw NotMeasured("the purge did not complete") }
            return Purged(
                child: child,
                seconds: try row.required(0, 0),
                deleted: try row.required(0, 1),
                batches: try row.required(0, 2),
                way: try row.required(0, 3),
                checksum: try checksum(connection)
            )
        }
    }

    private func checksum(_ connection: Connection) throws -> String {
        try connection.query(
            """
            select count(*) || ' ' || md5(string_agg(key, ',' order by key::bigint))
            from bulkhead.change, jsonb_array_elements_text(ids) as e (key)
            where relation = 'public.flights' and operation = 'delete'
            """
        ).required(0, 0)
    }

    /// Half of tables of one, two and four million rows.
    private func growth(_ server: FlightsServer) async throws {
        var perRow: [Double] = []
        for factor in [1, 2, 4] {
            let rows = factor * rows / 3
            let name = "flights_\(factor)"
            try await server.makeTemplate(name, rows: rows, from: flights)
            let times = try (1...rounds).map { _ in
                let purged = try purge("id % 2 = 0", name, server)
                return purged.seconds / Double(purged.deleted) * 1e6
            }
            perRow.append(times.median)
            print("  \(rows) rows: \(figure(times.median)) µs a deleted row")
        }
        let spread = (perRow.max() ?? 0) / (perRow.min() ?? 1) - 1
        print(
            "purge, growth: time a row differs by \(figure(spread * 100, 0)) % from 1x to 4x the rows, goal 25 %"
        )
    }
}
