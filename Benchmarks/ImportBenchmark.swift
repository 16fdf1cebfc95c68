import Bulkhead
import Foundation
import Postgres
import PostgresServer

/// `bulkhead import` beside what psql does with the same file and the same table.
struct ImportBenchmark {
    let program: String
    let flights: String
    private let rows = setting("BULKHEAD_BENCH_ROWS", 3_000_000)
    private let rounds = setting("BULKHEAD_BENCH_ROUNDS", 3)

    /// Durable as usual; only as large as a server that does more than a demonstration.
    static let settings = ["shared_buffers": "512MB", "max_wal_size": "4GB"]

    private static let columns = """
        id bigint primary key, year int, month int, day int, dep_time int, sched_dep_time int, dep_delay int,
        arr_time int, sched_arr_time int, arr_delay int, carrier text, flight int, tailnum text, origin text,
        dest text, air_time int, distance int, hour int, minute int, time_hour timestamptz
        """

    private static let names = columns.split(separator: ",").compactMap {
        $0.split(whereSeparator: \.isWhitespace).first.map(String.init)
    }

    /// Every second row of the file, each another in two columns.
    private static let half = """
        insert into half select * from staged where id % 2 = 0;
        update half set distance = 0, time_hour = null;
        vacuum analyze half
        """

    private static let handWrittenUpdate = """
        begin;
        create temp table stage (like half);
        \\copy stage from 'FILE' with (format csv, header, null 'NA')
        insert into half select * from stage on conflict (id) do update
        set (SET) = (EXCLUDED);
        commit
        """

    func run() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "bulkhead-bench-\(UUID().uuidString)"
        )
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let server = try await PostgresServer.start(.init(fsync: true, settings: Self.settings))
        do {
            try await Run(self, server, folder).measure()
        } catch {
            await server.close()
            try FileManager.default.removeItem(at: folder)
            throw error
        }
        await server.close()
        try FileManager.default.removeItem(at: folder)
    }

    /// One server, two files and what was measured with them.
    private struct Run {
        let program: String
        let flights: String
        let rows: Int
        let rounds: Int
        let server: PostgresServer
        let folder: URL
        let file: String
        let badFile: String

        init(_ benchmark: ImportBenchmark, _ server: PostgresServer, _ folder: URL) {
            program = benchmark.program
            flights = benchmark.flights
            rows = benchmark.rows
            rounds = benchmark.rounds
            self.server = server
            self.folder = folder
            file = folder.appending(path: "flights.csv").path()
            badFile = folder.appending(path: "bad.csv").path()
        }

        func measure() async throws {
            print("import: \(rows) rows made from \(flights), \(rounds) rounds")
            try make(file, badEvery: 0)
            try make(badFile, badEvery: 100)
            try await prepare()
            var direct = Comparison("import, beside \\copy", goal: 0.8)
            var staged = Comparison("import, table with a row trigger, beside \\copy", goal: 0.45)
            var bad = Comparison("import of 1 % bad rows, beside a clean import", goal: 0.4)
            var update = Comparison(
                "import --on-conflict update into a half-filled table, beside COPY and INSERT ... ON CONFLICT",
                goal: 0.8
            )
            var loader = Comparison("pgloader, beside \\copy")
            for round in 1...rounds {
                let copied = try copy(into: "direct")
                let clean = try load("direct", file)
                direct.add(base: copied, clean)
                staged.add(base: try copy(into: "staged"), try load("staged", file))
                bad.add(base: clean, try load("bad", badFile, ["--max-rejects", "\(rows)"]))
                update.add(base: try updateByHand(), try updateByImport())
                if let seconds = try pgloader() { loader.add(base: copied, seconds) }
                print("  round \(round) done")
            }
            for comparison in [direct, staged, bad, update, loader] { comparison.report(rows) }
        }

        // MARK: What is measured

        private func copy(into table: String) throws -> Child {
            try clear(table)
            return try psql(
                "\\copy \(table) from '\(file)' with (format csv, header, null 'NA')"
            )
        }

        private func load(_ table: String, _ file: String, _ options: [String] = []) throws
            -> Child
        {
            try clear(table)
            return try load(file, into: table, options)
        }

        private func load(_ file: String, into table: String, _ options: [String]) throws -> Child {
            let environment = ["BULKHEAD_DATABASE_URL": server.url()]
            _ = try Child.run(
                program,
                ["import", table, file, "--null", "NA"] + options,
                environment: environment
            )
            return try Child.run(
                program,
                ["worker", "--drain", "--import-root", folder.path(), "--log-level", "warning"],
                environment: environment
            )
        }

        private func updateByHand() throws -> Child {
            try fillHalf()
            let columns = ImportBenchmark.names.filter { $0 != "id" }
            let script = ImportBenchmark.handWrittenUpdate
                .replacing("FILE", with: file)
                .replacing("SET)", with: "\(columns.joined(separator: ", ")))")
                .replacing(
                    "EXCLUDED",
                    with: columns.map { "excluded.\($0)" }.joined(separator: ", ")
                )
            let path = folder.appending(path: "update.sql").path()
            try script.write(toFile: path, atomically: true, encoding: .utf8)
            return try psql(["-f", path])
        }

        private func updateByImport() throws -> Child {
            try fillHalf()
            return try load(file, into: "half", ["--on-conflict", "update"])
        }

        /// pgloader as a user would call it; nil where it is not installed.
        private func pgloader() throws -> Child? {
            try clear("direct")
            let fields = ImportBenchmark.names.map { "\($0) [null if 'NA']" }
            let load = """
                LOAD CSV FROM '\(file)' (\(fields.joined(separator: ", ")))
                INTO postgresql://postgres@unix:\(server.socketDirectory):\(PostgresServer.port)/postgres?tablename=direct
                WITH skip header = 1, fields terminated by ',';
                """
            let path = folder.appending(path: "flights.load").path()
            try load.write(toFile: path, atomically: true, encoding: .utf8)
            guard Child.isInstalled("pgloader") else { return nil }
            return try Child.run("pgloader", ["--quiet", path], environment: [:])
        }

        // MARK: What is measured with

        /// The same rows over and over, each with a number of its own in front; every so many a bad one.
        private func make(_ file: String, badEvery interval: Int) throws {
            let script = """
                gzip -dc "$1" | awk -v rows="$2" -v interval="$4" '
                    NR == 1 { print "id," $0; next } { line[++n] = $0 }
                    END {
                        for (i = 1; i <= rows; i++) {
                            text = line[(i - 1) % n + 1]
                            if (interval && i % interval == 0) sub(/^[0-9]*/, "many", text)
                            print i "," text
                        }
                    }' >"$3"
                chmod 644 "$3"
                """
            _ = try Child.run(
                "sh",
                ["-c", script, "sh", flights, "\(rows)", file, "\(interval)"],
                environment: [:]
            )
        }

        private func prepare() async throws {
            let connection = try Connection(
                DatabaseAddress(server.url()),
                settings: SessionSettings(applicationName: "bulkhead benchmark")
            )
            _ = try await Installation(connection).install { _ in }
            for table in ["direct", "staged", "bad", "half"] {
                try connection.run(script: "create table \(table) (\(ImportBenchmark.columns))")
            }
            // Such a trigger changes nothing, but COPY could not tell what it does.
            try connection.run(
                script: """
                    create trigger nothing before insert on staged for each row when (false)
                    execute function suppress_redundant_updates_trigger()
                    """
            )
        }

        private func fillHalf() throws {
            try clear("half")
            for statement in ImportBenchmark.half.split(separator: ";\n") {
                _ = try psql(String(statement))
            }
            _ = try psql("checkpoint")
        }

        private func clear(_ table: String) throws {
            _ = try psql("truncate \(table)")
            _ = try psql("truncate bulkhead.change, bulkhead.reject")
            _ = try psql("checkpoint")
        }

        private func psql(_ command: String) throws -> Child {
            try psql(["-c", command])
        }

        private func psql(_ arguments: [String]) throws -> Child {
            try Child.run(
                server.binDirectory + "/psql",
                ["-XqAt", "-v", "ON_ERROR_STOP=1"] + arguments + [server.url()],
                environment: [:]
            )
        }
    }
}
