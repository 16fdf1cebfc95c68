internal import Bulkhead
internal import BulkheadJobs
internal import Postgres

/// Enqueues a migration, or shows what was applied.
enum MigrateVerb: Verb {
    static let name = "migrate"
    static let summary = "Apply numbered SQL files to a live database, step by step"
    static let synopsis = "FILE|DIR | [DIR] --model FILE [options]"
    static let options: [Option] =
        [
            .value("--to", "N", "apply no file above this number"),
            .value(
                "--down",
                "N",
                "take back all applied files above this number, the newest first"
            ),
            .value(
                "--baseline",
                "N",
                "count files up to this number as applied, without running them"
            ),
            .flag(
                "--repair",
                "accept files that were changed, deleted or added late, as they are now"
            ),
            .flag(
                "--dry-run",
                "try the steps in a copy of the schema; show what they lock, write anew and scan"
            ),
            .flag("--strict", "with --dry-run: fail where a step would keep others waiting"),
            .value(
                "--model",
                "FILE",
                "infer the steps to this model; with a directory, write them there as its next file"
            ),
            .flag("--status", "show what was applied, and what is to come; run nothing"),
            .value(
                "--max-block",
                "MS",
                "the longest wait for a lock, which others queue behind (500)"
            ),
            .value(
                "--lock-timeout-total",
                "S",
                "give a step up when its locks cannot be had for so many seconds (900)"
            ),
        ] + Option.enqueue.filter { $0.name != "--any-host" }
    static let example = "bulkhead migrate migrations/ --wait"

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        guard arguments.operands.count < 2 else {
            throw UsageError("migrate takes one file or directory")
        }
        guard !arguments.has("--strict") || arguments.has("--dry-run") else {
            throw UsageError("--strict goes with --dry-run")
        }
        if let model = arguments.text("--model") {
            return try await inferred(model, arguments, terminal)
        }
        let directory = try arguments.operands.first.map(read)
        for note in directory?.notes ?? [] { terminal.note(note) }
        if arguments.has("--status") {
            return try await Database.use(arguments) { connection in
                try MigrationStatus(connection, directory).print(terminal)
                return .done
            }
        }
        guard let directory else { throw UsageError("migrate needs a file or a directory") }
        return try await Database.use(arguments) { connection in
            if arguments.has("--dry-run") {
                for option in ["--down", "--baseline", "--repair", "--to"]
                where arguments.has(option) {
                    throw UsageError("--dry-run tries what is to come, and takes no \(option)")
                }
                if let refusal = try MigrationStatus(connection, directory).refusal() {
                    Terminal.error(refusal)
                    return .failed
                }
                return try MigrationPreview(connection, arguments, terminal).print(directory.files)
            }
            let call = try statement(arguments, directory)
            let job = try Enqueued.add(call, connection)
            return try await Enqueued(job, connection, arguments, terminal).finish()
        }
    }

    /// Infers the steps that lead to a declared model, and shows or enqueues them.
    private static func inferred(
        _ model: String,
        _ arguments: Arguments,
        _ terminal: Terminal
    ) async throws -> ExitStatus {
        let directory = arguments.operands.first
        return try await Database.use(arguments) { connection in
            let inferred = try InferredMigration(model: model, directory, connection)
            guard let text = try inferred.show(arguments, terminal) else { return inferred.status }
            let file = try inferred.write(text, terminal)
            let call = try statement(arguments, MigrationDirectory(file: file))
            let job = try Enqueued.add(call, connection)
            return try await Enqueued(job, connection, arguments, terminal).finish()
        }
    }

    /// Reads all files to their ends, so that one that is wrong is refused before anything is enqueued.
    private static func read(_ path: String) throws -> MigrationDirectory {
        do {
            let directory = try MigrationDirectory(path: path)
            for file in directory.files { _ = try MigrationPlan(file) }
            return directory
        } catch let error as MigrationError {
            throw UsageError(error.message)
        }
    }

    private static func statement(_ arguments: Arguments, _ directory: MigrationDirectory) throws
        -> SQL
    {
        let seconds = try arguments.seconds("--lock-timeout-total").map { $0 / .seconds(1) } ?? 900
        return """
            select bulkhead.migrate(\(try directory.json)::jsonb, complete => \(directory.isComplete),
                to_version => \(arguments.text("--to")), down => \(arguments.text("--down")),
                baseline => \(arguments.text("--baseline")), repair => \(arguments.has("--repair") ? true : nil as Bool?),
                max_block => \(try arguments.number("--max-block", in: 10...60_000) ?? 500),
                lock_timeout_total => make_interval(secs => \(seconds)),
                \(try EnqueueOptions(arguments, anyHost: true).sql))
            """
    }
}

extension MigrationDirectory {
    /// The files as `bulkhead.migrate` takes them.
    fileprivate var json: JSONText {
        get throws {
            try JSONText(
                encoding: files.map { Document(name: $0.name, text: $0.text, down: $0.downText) }
            )
        }
    }

    private struct Document: Encodable {
        let name: String
        let text: String
        let down: String?
    }
}

/// What was applied to a database, and which files are to come.
private struct MigrationStatus {
    private let connection: Connection
    private let directory: MigrationDirectory?

    init(_ connection: Connection, _ directory: MigrationDirectory?) {
        self.connection = connection
        self.directory = directory
    }

    func print(_ terminal: Terminal) throws {
        let files = try directory?.json ?? JSONText("[]")
        let rows = try connection.query(
            """
            with given as (
                select f ->> 'name' as file, bulkhead.migration_version(f ->> 'name') as version
                from jsonb_array_elements(\(files)::jsonb) as f
            ), all_files as (
                select s.version, string_to_array(s.version, '.')::numeric[] as number, s.file, s.state,
                    s.steps_applied, s.steps, s.ended_at, s.duration, s.rows, s.job, s.error
                from bulkhead.migration_status s
                union all
                select bulkhead.version_text(g.version), g.version, g.file, 'to come', null, null, null, null, null,
                    null, null
                from given g
                where bulkhead.version_text(g.version) not in (select s.version from bulkhead.migration_status s)
            )
            select a.version, a.file, a.state, coalesce(a.steps_applied || '/' || a.steps, ''),
                coalesce(date_trunc('second', a.ended_at)::text, ''),
                coalesce(date_trunc('milliseconds', a.duration)::text, ''), coalesce(a.job::text, ''),
                (to_jsonb(a) - 'number')::text
            from all_files a order by a.number
            """
        )
        try TextTable.print(
            rows,
            ["NUMBER", "FILE", "STATE", "STEPS", "ENDED", "TOOK", "JOB"],
            nothing: "nothing was applied to this database",
            terminal
        )
        if let refusal = try refusal() { terminal.note(refusal) }
    }

    /// Why the files cannot be applied to what was applied already; nil where they can.
    func refusal() throws -> String? {
        guard let directory else { return nil }
        let files = try directory.json
        return try connection.query(
            """
            select bulkhead.migration_refusal(bulkhead.migration_files(\(files)::jsonb), \(directory.isComplete),
                false, false)
            """
        ).value(0, 0)
    }
}
