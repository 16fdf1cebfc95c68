import Bulkhead
import Foundation
import Postgres
import PostgresServer

/// `bulkhead import` beside psql's \copy of the same file into the same table with its primary key.
struct ImportBenchmark {
    let program: String
    let flights: String
    private let rows = Main.setting("BULKHEAD_BENCH_ROWS", 3_000_000)
    private let rounds = Main.setting("BULKHEAD_BENCH_ROUNDS", 5)

    /// Durable as usual; only as large as a server that does more than a demonstration.
    static let settings = ["shared_buffers": "512MB", "max_wal_size": "4GB"]

    private static let columns = """
        id bigint primary key, year int, month int, day int, dep_time int, sched_dep_time int, dep_delay int,
        arr_time int, sched_arr_time int, arr_delay int, carrier text, flight int, tailnum text, origin text,
        dest text, air_time int, distance int, hour int, minute int, time_hour timestamptz
        """

    private struct Round {
        let psql: Child
        let direct: Child
        let staged: Child
    }

    func run() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "bulkhead-bench-\(UUID().uuidString)"
        )
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let server = try await PostgresServer.start(.init(fsync: true, settings: Self.settings))
        do {
            try await measure(server, folder)
        } catch {
            await server.close()
            try FileManager.default.removeItem(at: folder)
            throw error
        }
        await server.close()
        try FileManager.default.removeItem(at: folder)
    }

    private func measure(_ server: PostgresServer, _ folder: URL) async throws {
        let file = folder.appending(path: "flights.csv").path()
        print("import: \(rows) rows made from \(flights), \(rounds) rounds")
        try make(file)
        try await prepare(server)
        var measured: [Round] = []
        for round in 1...rounds {
            let psql = try copy(file, server)
            let direct = try load(file, into: "direct", server, folder)
            let staged = try load(file, into: "staged", server, folder)
            measured.append(Round(psql: psql, direct: direct, staged: staged))
            print(
                "  round \(round): \\copy \(figure(psql.seconds)) s, import \(figure(direct.seconds)) s,"
                    + " import through the temporary table \(figure(staged.seconds)) s"
            )
        }
        report("import", measured.map { ($0.psql, $0.direct) })
        report("import, table with a row trigger", measured.map { ($0.psql, $0.staged) })
    }

    private func report(_ name: String, _ pairs: [(psql: Child, ours: Child)]) {
        let ratio = pairs.map { $0.psql.seconds / $0.ours.seconds }.median
        let rate = Double(rows) / pairs.map(\.ours.seconds).median
        let peak = pairs.map(\.ours.peakMebibytes).max() ?? 0
        print(
            "\(name): \(figure(ratio)) of the speed of \\copy (median), \(Int(rate)) rows/s,"
                + " peak memory of the daemon \(figure(peak, 1)) MiB"
        )
    }

    /// The same rows over and over, each with a number of its own in front.
    private func make(_ file: String) throws {
        let script = """
            gzip -dc "$1" | awk -v rows="$2" '
                NR == 1 { print "id," $0; next } { line[++n] = $0 }
                END { for (i = 1; i <= rows; i++) print i "," line[(i - 1) % n + 1] }' >"$3"
            chmod 644 "$3"
            """
        _ = try Child.run("sh", ["-c", script, "sh", flights, "\(rows)", file], environment: [:])
    }

    private func prepare(_ server: PostgresServer) async throws {
        let connection = try Connection(
            DatabaseAddress(server.url()),
            settings: SessionSettings(applicationName: "bulkhead benchmark")
        )
        _ = try await Installation(connection).install { _ in }
        for table in ["baseline", "direct", "staged"] {
            try connection.run(script: "create table \(table) (\(Self.columns))")
        }
        // Such a trigger changes nothing, but COPY could not tell what it does.
        try connection.run(
            script: """
                create trigger nothing before insert on staged for each row when (false)
                execute function suppress_redundant_updates_trigger()
                """
        )
    }

    private func copy(_ file: String, _ server: PostgresServer) throws -> Child {
        try clear("baseline", server)
        let command = "\\copy baseline from '\(file)' with (format csv, header, null 'NA')"
        return try psql(command, server)
    }

    private func load(
        _ file: String,
        into table: String,
        _ server: PostgresServer,
        _ folder: URL
    ) throws -> Child {
        try clear(table, server)
        let environment = ["BULKHEAD_DATABASE_URL": server.url()]
        _ = try Child.run(
            program,
            ["import", table, file, "--null", "NA"],
            environment: environment
        )
        return try Child.run(
            program,
            ["worker", "--drain", "--import-root", folder.path(), "--log-level", "warning"],
            environment: environment
        )
    }

    private func clear(_ table: String, _ server: PostgresServer) throws {
        _ = try psql("truncate \(table)", server)
        _ = try psql("truncate bulkhead.change", server)
        _ = try psql("checkpoint", server)
    }

    private func psql(_ command: String, _ server: PostgresServer) throws -> Child {
        try Child.run(
            server.binDirectory + "/psql",
            ["-XqAt", "-v", "ON_ERROR_STOP=1", "-c", command, server.url()],
            environment: [:]
        )
    }
}
