internal import Bulkhead
internal import Postgres

/// One attempt at an import: file after file, batch after batch, from where the last attempt stopped.
final class ImportRun {
    private let context: JobContext
    private let arguments: ImportArguments
    private let format: FileFormat
    private let files: [OpenFile]
    private let batchBytes: Int
    private var sizer: BatchSizer
    private var progress: ImportProgress
    private let experience = LoadExperience()

    /// Opens all files, so that one that is missing fails the job before its first row.
    init(_ context: JobContext, root: ImportRoot, batchBytes: Int) throws {
        self.context = context
        self.batchBytes = batchBytes
        arguments = try ImportArguments(context.job.args)
        format = try arguments.fileFormat()
        files = try arguments.files.map { name in try root.open(name) }
        sizer = BatchSizer(fixed: arguments.batch)
        progress = try ImportProgress(context.progress)
    }

    func run() async throws -> JSONText? {
        let target = try await context.read { connection in
            try ImportTarget(connection, name: arguments.tableName)
        }
        try await forgetLaterRejects()
        while progress.checkpoint.file < files.count {
            let file = files[progress.checkpoint.file]
            do {
                try await load(file, into: target)
            } catch let error as ReadError {
                throw JobFailure(
                    error.message,
                    position: error.line.map { "\(file.name) line \($0)" }
                )
            }
        }
        return try JSONText(encoding: progress.totals)
    }

    /// Removes the rejects that an earlier attempt wrote beyond its last batch, when it failed.
    ///
    /// Inside a batch: a worker that woke up too late would else remove those of its successor.
    private func forgetLaterRejects() async throws {
        let rejected = progress.totals.rejected
        let later: SQL = """
            select id from bulkhead.reject where job = \(context.job.id) order by id offset \(rejected)
            """
        let hasLater = try await context.read { try !$0.query("\(later) limit 1").isEmpty }
        guard hasLater else { return }
        try await context.batch { transaction in
            try transaction.connection.query("delete from bulkhead.reject where id in (\(later))")
            return context.progress
        }
    }

    // MARK: One file

    private func load(_ file: OpenFile, into target: ImportTarget) async throws {
        let checkpoint = progress.checkpoint
        if let identity = checkpoint.identity, identity != file.identity {
            throw JobFailure(
                "\(file.name) is not the file that this job began to read: it was changed or replaced; "
                    + "import what is new as a job of its own",
                position: "\(file.name) line \(checkpoint.position.line)"
            )
        }
        let reader = ImportReader(file: file, format: format)
        let opened = try await reader.open(
            skip: arguments.skip ?? 0,
            hasHeader: arguments.hasHeader
        )
        let names = arguments.columns ?? opened.names
        let plan = try await context.read { connection in
            try ImportPlan(target, arguments, names: names, file: checkpoint.file, connection)
        }
        try await reader.start(plan.layout, from: checkpoint.position)
        try await loadBatches(of: file, from: reader, plan, opened.rejectFile)
    }

    /// The next batch is read while the server works on this one.
    private func loadBatches(
        of file: OpenFile,
        from reader: ImportReader,
        _ plan: ImportPlan,
        _ rejectFile: RejectFile
    ) async throws {
        var pending = reader.batch(rows: sizer.rows, bytes: batchBytes)
        defer { pending.cancel() }
        while true {
            let batch = try await pending.value
            if !batch.isLast { pending = reader.batch(rows: sizer.rows, bytes: batchBytes) }
            try file.checkUnchanged()
            let start = ContinuousClock.now
            try await load(batch, of: file, plan, rejectFile)
            sizer.took(.now - start, rows: batch.count)
            if batch.isLast { return }
        }
    }

    // MARK: One batch

    private func load(
        _ batch: ParsedBatch,
        of file: OpenFile,
        _ plan: ImportPlan,
        _ rejectFile: RejectFile
    ) async throws {
        let allowed = arguments.maxRejects ?? 0
        do {
            try await context.batch { transaction in
                let loader = BatchLoader(
                    batch,
                    plan,
                    file: file.name,
                    job: context.job.id,
                    rejectsLeft: allowed - progress.totals.rejected,
                    experience: experience,
                    in: transaction
                )
                let outcome = try loader.load()
                try outcome.rejects.write(
                    job: context.job.id,
                    of: rejectFile,
                    transaction.connection
                )
                var next = progress
                next.totals.add(read: batch.count, outcome, plan.policy)
                next.checkpoint = self.checkpoint(after: batch, of: file)
                return try next.stored(share: share(after: batch))
            }
            progress = try ImportProgress(context.progress)
        } catch let error as TooManyRejects {
            try await fail(error, allowed: allowed, rejectFile)
        }
    }

    private func checkpoint(after batch: ParsedBatch, of file: OpenFile) -> ImportCheckpoint {
        let number = progress.checkpoint.file
        if batch.isLast { return ImportCheckpoint(file: number + 1) }
        return ImportCheckpoint(file: number, position: batch.end, identity: file.identity)
    }

    /// The share of all stored bytes that has been read.
    private func share(after batch: ParsedBatch) -> Double {
        let number = progress.checkpoint.file
        let before = files[..<number].reduce(0.0) { $0 + Double($1.size) }
        let all = files.reduce(0.0) { $0 + Double($1.size) }
        if batch.isLast, number == files.count - 1 { return 1 }
        return all > 0 ? (before + batch.share * Double(files[number].size)) / all : 1
    }

    /// Keeps the rejects of the batch that was given up, for whoever mends the file.
    private func fail(
        _ error: TooManyRejects,
        allowed: Int64,
        _ rejectFile: RejectFile
    ) async throws {
        let rejects = error.rejects.sorted { $0.line < $1.line }
        try await context.batch { transaction in
            try rejects.write(job: context.job.id, of: rejectFile, transaction.connection)
            return context.progress
        }
        guard let first = rejects.first else { return }
        let limit = allowed == 0 ? "" : " (more than --max-rejects \(allowed))"
        throw JobFailure(
            "\(first.description)\(limit); see all with `bulkhead rejects \(context.job.id)`, or allow some "
                + "with --max-rejects",
            sqlstate: first.sqlstate,
            position: "\(first.file) line \(first.line)"
        )
    }
}
