import Bulkhead
import Foundation
import Postgres
import PostgresServer

/// A private server with databases full of flights; each measurement has a copy of its own, page for page
/// like all others.
struct FlightsServer {
    let server: PostgresServer
    let program: String
    let folder: URL

    private static let columns = """
        year int, month int, day int, dep_time int, sched_dep_time int, dep_delay int,
        arr_time int, sched_arr_time int, arr_delay int, carrier text, flight int, tailnum text, origin text,
        dest text, air_time int, distance int, hour int, minute int, time_hour timestamptz
        """

    /// Starts a server that waits for the disk, and stops it behind the closure.
    static func with(_ program: String, _ body: (FlightsServer) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "bulkhead-bench-\(UUID().uuidString)"
        )
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let server = try await PostgresServer.start(
            .init(fsync: true, settings: ImportBenchmark.settings)
        )
        let result: Result<Void, any Error>
        do {
            result = .success(
                try await body(FlightsServer(server: server, program: program, folder: folder))
            )
        } catch {
            result = .failure(error)
        }
        await server.close()
        try FileManager.default.removeItem(at: folder)
        try result.get()
    }

    /// Makes a database that is copied later: the same flights over and over, each with a number of its own.
    func makeTemplate(_ name: String, rows: Int, from flights: String) async throws {
        try psql("create database \(name)")
        let connection = try session(name)
        _ = try await Installation(connection).install { _ in }
        let sample = folder.appending(path: "sample.csv").path()
        _ = try Child.run(
            "sh",
            ["-c", "gzip -dc \"$1\" >\"$2\"; chmod 644 \"$2\"", "sh", flights, sample],
            environment: [:]
        )
        try connection.run(script: "create table sample (n serial, \(Self.columns))")
        let names = Self.columns.split(separator: ",").compactMap {
            $0.split(whereSeparator: \.isWhitespace).first.map(String.init)
        }.joined(separator: ", ")
        try psql(
            "\\copy sample (\(names)) from '\(sample)' with (format csv, header, null 'NA')",
            in: name
        )
        try connection.run(
            script: """
                create table flights (id bigint primary key, \(Self.columns));
                insert into flights select g, \(names) from generate_series(1, \(rows)) g
                join sample s on s.n = 1 + g % (select count(*) from sample) order by g;
                drop table sample;
                """
        )
        try connection.run(script: "vacuum (analyze, freeze) flights")
    }

    /// Lends a fresh copy of a template.
    func withCopy<Value>(of template: String, _ body: (String) throws -> Value) throws -> Value {
        try psql("create database copy template \(template) strategy file_copy")
        try psql("checkpoint")
        // What the copy left to be written must not slow what is measured.
        _ = try Child.run("sync", [], environment: [:])
        let result = Result { try body("copy") }
        try psql("drop database copy with (force)")
        return try result.get()
    }

    func session(_ database: String) throws -> Connection {
        try Connection(
            DatabaseAddress(server.url(database: database)),
            settings: SessionSettings(applicationName: "bulkhead benchmark")
        )
    }

    @discardableResult
    func psql(_ command: String, in database: String = "postgres") throws -> Child {
        try Child.run(
            server.binDirectory + "/psql",
            ["-XqAt", "-v", "ON_ERROR_STOP=1", "-c", command, server.url(database: database)],
            environment: [:]
        )
    }

    /// Enqueues a purge of the flights; nothing runs it yet.
    func enqueuePurge(_ condition: String, _ options: [String] = [], in database: String) throws {
        _ = try Child.run(
            program,
            ["purge", "flights", "--where", condition, "--quiet"] + options,
            environment: ["BULKHEAD_DATABASE_URL": server.url(database: database)]
        )
    }

    /// Enqueues migration files, by their names; nothing runs them yet.
    func enqueueMigration(_ files: [String: String], in database: String) throws {
        let directory = folder.appending(path: "migrations")
        if FileManager.default.fileExists(atPath: directory.path()) {
            try FileManager.default.removeItem(at: directory)
        }
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        for (name, text) in files {
            try text.write(to: directory.appending(path: name), atomically: true, encoding: .utf8)
        }
        _ = try Child.run(
            program,
            ["migrate", directory.path(), "--quiet"],
            environment: ["BULKHEAD_DATABASE_URL": server.url(database: database)]
        )
    }

    /// Runs a daemon until nothing is left to do.
    func drain(_ database: String) throws -> Child {
        try Child.run(
            program,
            ["worker", "--drain", "--log-level", "warning"],
            environment: ["BULKHEAD_DATABASE_URL": server.url(database: database)]
        )
    }

    /// One DELETE that writes the same change rows.
    static func oneDelete(_ condition: String) -> String {
        """
        with gone as (delete from flights where \(condition) returning id)
        insert into bulkhead.change (relation, operation, ids)
        select 'public.flights', 'delete', ('[' || string_agg(to_json(id::text)::text, ',') || ']')::jsonb
        from (select id, (row_number() over () - 1) / 10000 as part from gone) as k group by part
        """
    }
}
