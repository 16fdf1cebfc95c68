internal import Bulkhead
internal import BulkheadJobs
internal import FoundationEssentials
internal import Postgres

/// The migration that leads to a declared model.
struct InferredMigration {
    private let plan: ModelPlan
    private let directory: String?
    private let connection: Connection

    /// Compares the model of a file with the database.
    ///
    /// - Throws: `UsageError` for a file that is no model.
    init(model path: String, _ directory: String?, _ connection: Connection) throws {
        self.directory = directory
        self.connection = connection
        if let directory { try Self.requireDirectory(directory) }
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw UsageError("the model \(path) cannot be read")
        }
        let model: SchemaModel
        do {
            model = try JSONText(String(decoding: bytes, as: UTF8.self)).decode()
        } catch let error as DecodingError {
            throw UsageError("\(path) is not a model: \(error.inWords)")
        }
        plan = try ModelPlanner.plan(model, connection)
    }

    private static func requireDirectory(_ path: String) throws {
        var isDirectory = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw UsageError("there is no directory \(path)")
        }
        guard isDirectory else { throw UsageError("\(path) is no directory") }
    }

    /// What the program ends with when there is nothing to enqueue.
    var status: ExitStatus { plan.problems.isEmpty ? .done : .failed }

    /// Says what was found.
    ///
    /// - Returns: The text of the migration; nil when nothing is to be enqueued.
    func show(_ arguments: Arguments, _ terminal: Terminal) throws -> String? {
        for note in plan.notes { terminal.note(note) }
        for problem in plan.problems { Terminal.error("cannot be inferred: \(problem)") }
        if plan.isEmpty {
            terminal.note("the database is what the model says")
        } else if arguments.has("--dry-run") || !plan.problems.isEmpty {
            try terminal.result(
                terminal.printsJSON ? JSONText(encoding: ["sql": plan.text]).text : plan.text
            )
        } else {
            return plan.text
        }
        return nil
    }

    /// Makes the migration's file, in the directory where one is named.
    func write(_ text: String, _ terminal: Terminal) throws -> MigrationFile {
        guard let directory else {
            let stamp: String = try connection.query(
                "select to_char(clock_timestamp() at time zone 'UTC', 'YYYYMMDDHH24MISSMS')"
            ).required(0, 0)
            return try MigrationFile(name: "\(stamp)_model.sql", text: text)
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: directory)
        let versions = names.filter { $0.hasSuffix(".sql") }.compactMap {
            MigrationVersion(fileName: $0)
        }
        let next = (versions.max()?.parts.first ?? 0) + 1
        let digits = String(next)
        let name = String(repeating: "0", count: max(0, 4 - digits.count)) + "\(digits)_model.sql"
        let file = try MigrationFile(name: name, text: text)
        let path = "\(directory)/\(name)"
        guard FileManager.default.createFile(atPath: path, contents: Data(text.utf8)) else {
            throw UsageError("the file \(path) cannot be written")
        }
        terminal.note("wrote \(path)")
        return file
    }
}
