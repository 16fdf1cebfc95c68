import Bulkhead
import BulkheadTesting
import Foundation
import Postgres
import Testing

@testable import BulkheadJobs

/// A database and an import root of one test, and daemons of the test's process that load files.
struct ImportBench: JobBench {
    let database: TestDatabase
    let folder: TemporaryDirectory
    let log: TestLog

    var handlers: [any JobHandler] {
        [ImportHandler(importRoot: folder.path)]
    }

    /// Loads a text into a table, with named arguments of `bulkhead.import` as SQL.
    func load(_ table: String, _ text: String, _ options: String = "") async throws -> LoadedJob {
        try folder.write(text, to: "in.csv")
        return try await load(table, files: ["in.csv"], options)
    }

    /// Adds a job for a text of its own.
    func enqueue(_ table: String, text: String, _ options: String = "") async throws -> Int64 {
        let file = "\(UUID().uuidString).csv"
        try folder.write(text, to: file)
        return try await enqueue(table, files: [file], options)
    }

    func load(_ table: String, files: [String], _ options: String = "") async throws -> LoadedJob {
        let job = try await enqueue(table, files: files, options)
        try await drain()
        return try await outcome(of: job)
    }

    func enqueue(_ table: String, files: [String], _ options: String = "") async throws -> Int64 {
        let rest = options.isEmpty ? "" : ", " + options
        let id = try await database.value(
            "select bulkhead.import(\(table)::text, \(files)::text[]\(unsafe: rest))"
        )
        return Int64(id ?? "") ?? 0
    }

    /// The default of a column, `hc.gate()`, that holds up the row of a number until the gate opens.
    static func gate(at row: Int) -> String {
        """
        create sequence hc.passed;
        create function hc.gate() returns int language plpgsql as $$
        begin
            if nextval('hc.passed') >= \(row) then perform pg_advisory_xact_lock_shared(4711); end if;
            return 0;
        end $$;
        """
    }

    /// Runs the job until it stands at the gate, and stops the daemon there.
    func runToGate(_ job: Int64, batches: Int) async throws {
        let keeper = try await database.session()
        _ = try await keeper.value("select pg_advisory_lock(4711)")
        let daemon = try await startDaemon()
        try await database.waitUntil(
            """
            select batches = \(batches) and exists (
                select from pg_locks l join pg_database d on d.oid = l.database
                where d.datname = current_database() and locktype = 'advisory' and objid = 4711
                    and not granted)
            from bulkhead.job where id = \(job)
            """
        )
        try await daemon.stop()
        await keeper.close()
        let left = try await database.value("select state from bulkhead.job where id = \(job)")
        #expect(left == "available")
    }

    /// A case's file beside these tests.
    func copyCase(_ name: String, as copy: String? = nil) throws {
        let file = copy ?? (name.split(separator: "/").last.map(String.init) ?? name)
        try folder.write(CaseFiles.bytes(name), to: file)
    }

    func outcome(of job: Int64) async throws -> LoadedJob {
        let session = try await database.session()
        return try await session.use { try LoadedJob(job, $0) }
    }
}
