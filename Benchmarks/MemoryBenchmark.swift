import Bulkhead
import Foundation
import Postgres
import PostgresServer

/// The daemon's peak memory: for a file and one ten times as large, and for rows with one large field.
///
/// It takes minutes and gigabytes, so it runs only when it is named; `BULKHEAD_BENCH_MIB` is the size of
/// the larger file.
struct MemoryBenchmark {
    let program: String
    let flights: String
    private let mebibytes = setting("BULKHEAD_BENCH_MIB", 2048)
    private let fieldMebibytes = setting("BULKHEAD_BENCH_FIELD_MIB", 50)

    private static let columns = """
        id bigint, year text, month text, day text, dep_time text, sched_dep_time text, dep_delay text,
        arr_time text, sched_arr_time text, arr_delay text, carrier text, flight text, tailnum text,
        origin text, dest text, air_time text, distance text, hour text, minute text, time_hour text
        """

    func run() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "bulkhead-bench-\(UUID().uuidString)"
        )
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // Nothing is said of speed here, so nothing need reach the disk.
        let server = try await PostgresServer.start(.init(settings: ImportBenchmark.settings))
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
        let connection = try Connection(
            DatabaseAddress(server.url()),
            settings: SessionSettings(applicationName: "bulkhead benchmark")
        )
        _ = try await Installation(connection).install { _ in }
        try connection.run(
            script: """
                create table rows (\(Self.columns));
                create table wide (id bigint primary key, value text);
                """
        )
        let small = try many(mebibytes / 10, server, folder)
        let large = try many(mebibytes, server, folder)
        print(
            "memory: \(figure(small, 1)) MiB for \(mebibytes / 10) MiB of csv, "
                + "\(figure(large, 1)) MiB for \(mebibytes) MiB"
        )
        for format in ["csv", "jsonl"] {
            let peak = try wide(format, server, folder)
            print(
                "memory: \(figure(peak, 1)) MiB for a row of \(fieldMebibytes) MiB in \(format)"
            )
        }
    }

    /// The same rows over and over, each with a number of its own in front.
    private func many(_ mebibytes: Int, _ server: PostgresServer, _ folder: URL) throws -> Double {
        let script = """
            gzip -dc "$1" | awk -v size="$2" '
                NR == 1 { print "id," $0; next } { line[++n] = $0 }
                END { for (i = 1; bytes < size; i++) {
                    row = i "," line[(i - 1) % n + 1]; bytes += length(row) + 1; print row } }' >"$3"
            """
        let file = folder.appending(path: "rows.csv").path()
        _ = try Child.run(
            "sh",
            ["-c", script, "sh", flights, "\(mebibytes << 20)", file],
            environment: [:]
        )
        return try load(file, into: "rows", server, folder)
    }

    private func wide(_ format: String, _ server: PostgresServer, _ folder: URL) throws -> Double {
        let (head, tail) =
            format == "csv"
            ? ("id,value\n1,", "\n2,b\n") : ("{\"id\":1,\"value\":\"", "\"}\n{\"id\":2}\n")
        let script = """
            printf %s "$1" >"$4"; head -c "$2" /dev/zero | tr '\\0' a >>"$4"; printf %s "$3" >>"$4"
            """
        let file = folder.appending(path: "wide.\(format)").path()
        _ = try Child.run(
            "sh",
            ["-c", script, "sh", head, "\(fieldMebibytes << 20)", tail, file],
            environment: [:]
        )
        return try load(file, into: "wide", server, folder)
    }

    private func load(
        _ file: String,
        into table: String,
        _ server: PostgresServer,
        _ folder: URL
    ) throws -> Double {
        let environment = ["BULKHEAD_DATABASE_URL": server.url()]
        _ = try Child.run(program, ["import", table, file], environment: environment)
        let daemon = try Child.run(
            program,
            ["worker", "--drain", "--import-root", folder.path(), "--log-level", "warning"],
            environment: environment
        )
        _ = try Child.run(
            server.binDirectory + "/psql",
            [
                "-XqAt", "-v", "ON_ERROR_STOP=1", server.url(), "-c",
                "do $$ begin assert (select count(*) > 1 from \(table)); end $$",
                "-c", "truncate \(table), bulkhead.change",
            ],
            environment: [:]
        )
        try FileManager.default.removeItem(atPath: file)
        return daemon.peakMebibytes
    }
}
