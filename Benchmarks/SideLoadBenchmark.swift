import Foundation
import Postgres
import PostgresServer

/// What others on the same server notice of a purge: pgbench on another table, and updates of the purged
/// table's other rows, beside nothing, a purge and one DELETE.
struct SideLoadBenchmark {
    let program: String
    let flights: String
    private let rows = setting("BULKHEAD_BENCH_ROWS", 3_000_000)
    private let rounds = setting("BULKHEAD_BENCH_SIDE_ROUNDS", 5)
    private let seconds = setting("BULKHEAD_BENCH_SIDE_SECONDS", 12)

    private enum Load: String, CaseIterable {
        case nothing = "nothing else"
        case nice = "purge --nice 1"
        case full = "purge"
        case delete = "one DELETE"
    }

    /// What one round showed, in milliseconds.
    private struct Seen {
        let p99: Double
        let longestUpdate: Double
        /// From one batch to the next at most.
        let longestBatch: Double
        let loadSeconds: Double
    }

    func run() async throws {
        try await FlightsServer.with(program) { server in
            print(
                "side load: pgbench -c 4 -R 400 for \(seconds) s, \(rounds) rounds, \(rows) flights"
            )
            try await server.makeTemplate("flights", rows: rows, from: flights)
            _ = try Child.run(
                server.server.binDirectory + "/pgbench",
                ["-q", "-i", "-s", "10", server.server.url(database: "flights")],
                environment: [:]
            )
            var seen: [Load: [Seen]] = [:]
            for round in 1...rounds {
                for load in Load.allCases {
                    let one = try measure(load, server)
                    seen[load, default: []].append(one)
                    print(
                        "  round \(round), \(load.rawValue): p99 \(figure(one.p99, 1)) ms, longest update "
                            + "\(figure(one.longestUpdate, 0)) ms, longest batch \(figure(one.longestBatch, 0)) ms, "
                            + "took \(figure(one.loadSeconds, 1)) s"
                    )
                }
            }
            report(seen)
        }
    }

    private func report(_ seen: [Load: [Seen]]) {
        let base = (seen[.nothing] ?? []).map(\.p99).median
        for load in Load.allCases {
            let all = seen[load] ?? []
            let p99 = all.map(\.p99).median
            let goal = load == .nice ? ", goal under 3" : ""
            print(
                "side load, \(load.rawValue): p99 \(figure(p99, 1)) ms, \(figure(p99 / base, 1)) of its baseline\(goal);"
                    + " longest update of another row \(figure(all.map(\.longestUpdate).max() ?? 0, 0)) ms,"
                    + " longest batch \(figure(all.map(\.longestBatch).max() ?? 0, 0)) ms"
            )
        }
    }

    private func measure(_ load: Load, _ server: FlightsServer) throws -> Seen {
        try server.withCopy(of: "flights") { database in
            if load == .nice || load == .full {
                try server.enqueuePurge(
                    "id % 2 = 0",
                    load == .nice ? ["--nice", "1"] : [],
                    in: database
                )
            }
            let times = server.folder.appending(path: "times").path()
            try runTogether(load, times, server, database)
            let parts = try String(contentsOfFile: times, encoding: .utf8).split(
                whereSeparator: \.isWhitespace
            ).compactMap { Double($0) }
            guard parts.count == 2 else { throw NotMeasured("no times of the load") }
            let (begin, end) = (parts[0], parts[1])
            let others = try latencies("pgbench", server, from: begin, to: end)
            let updates = try latencies("update", server, from: begin, to: end)
            return Seen(
                p99: others.percentile(0.99),
                longestUpdate: updates.max() ?? 0,
                longestBatch: try longestBatch(server.session(database)),
                loadSeconds: end - begin
            )
        }
    }

    /// Two pgbench for the whole time, and in the midst of it the load.
    private func runTogether(
        _ load: Load,
        _ times: String,
        _ server: FlightsServer,
        _ database: String
    ) throws {
        let update = server.folder.appending(path: "update.sql").path()
        try """
        \\set id random(0, \(rows / 2 - 1)) * 2 + 1
        update flights set distance = distance + 1 where id = :id;
        """.write(toFile: update, atomically: true, encoding: .utf8)
        let work =
            switch load {
            case .nothing: "sleep \(seconds - 3)"
            case .nice, .full: "\"$PROGRAM\" worker --drain --log-level warning"
            case .delete:
                "\"$BIN/psql\" -Xq -v ON_ERROR_STOP=1 -c \"$STATEMENT\" \"$URL\" >/dev/null"
            }
        let script = """
            cd "$FOLDER"; rm -f pgbench_log.* update_log.*
            "$BIN/pgbench" -n -c 4 -R 400 -T \(seconds) -l --log-prefix=pgbench_log "$URL" >/dev/null 2>&1 & one=$!
            "$BIN/pgbench" -n -c 1 -R 50 -T \(seconds) -f update.sql -l --log-prefix=update_log "$URL" \
            >/dev/null 2>&1 & two=$!
            sleep 2; begin=$(date +%s.%N); \(work) || exit 1
            echo "$begin $(date +%s.%N)" >"\(times)"; wait $one && wait $two
            """
        let url = server.server.url(database: database)
        _ = try Child.run(
            "sh",
            ["-c", script],
            environment: [
                "FOLDER": server.folder.path(), "BIN": server.server.binDirectory, "URL": url,
                "PROGRAM": program, "BULKHEAD_DATABASE_URL": url,
                "STATEMENT": FlightsServer.oneDelete("id % 2 = 0"),
            ]
        )
    }

    /// Of the transactions that ended while the load ran, in milliseconds.
    private func latencies(
        _ name: String,
        _ server: FlightsServer,
        from begin: Double,
        to end: Double
    ) throws -> [Double] {
        let files = try FileManager.default.contentsOfDirectory(atPath: server.folder.path())
            .filter { $0.hasPrefix("\(name)_log.") }
        return try files.flatMap { file in
            try String(contentsOf: server.folder.appending(path: file), encoding: .utf8)
                .split(separator: "\n").compactMap { line -> Double? in
                    // client, number, microseconds, script, epoch, its microseconds
                    let fields = line.split(separator: " ").compactMap { Double($0) }
                    guard fields.count >= 6 else { return nil }
                    let ended = fields[4] + fields[5] / 1e6
                    return ended >= begin && ended <= end ? fields[2] / 1000 : nil
                }
        }
    }

    /// Between the change records of two batches: with what the purge rests.
    private func longestBatch(_ connection: Connection) throws -> Double {
        try connection.query(
            """
            select coalesce(1000 * extract(epoch from max(gap)), 0)::float8 from (
                select at - lag(at) over (order by at) as gap
                from (select distinct at from bulkhead.change where job is not null) as batch (at)) as gaps
            """
        ).required(0, 0)
    }
}
