internal import Bulkhead
internal import Postgres

/// One attempt at an import: file after file, batch after batch, from where the last attempt stopped.
final class ImportRun {
    private let context: JobContext
    private let arguments: ImportArguments
    private let format: FileFormat
    private let files: [OpenFile]
    private let batchBytes: Int
    private let limit: RejectLimit
    private var sizer: BatchSizer

    /// Opens all files, so that one that is missing fails the job before its first row.
    init(_ context: JobContext, root: ImportRoot, batchBytes: Int) throws {
        self.context = context
        self.batchBytes = batchBytes
        arguments = try ImportArguments(context.job.args)
        format = try arguments.fileFormat()
        limit = RejectLimit(arguments)
        files = try arguments.files.map { name in try root.open(name) }
        sizer = BatchSizer(fixed: arguments.batch)
    }

    func run() async throws -> JSONText? {
        try await context.works(on: [arguments.tableName])
        let report =
            arguments.atomic == true ? try await loadInOneTransaction() : try await loadInBatches()
        try limit.check(report.totals, job: context.job.id)
        return try JSONText(encoding: report)
    }

    private func loadInBatches() async throws -> ImportReport {
        let destination = try await CommittedBatches(context, limit)
        try await loadFiles(into: destination)
        return destination.progress.report
    }

    private func loadInOneTransaction() async throws -> ImportReport {
        struct TakenBack: Error {}
        var result = ImportProgress()
        do {
            try await context.transaction { transaction in
                let destination = try SingleTransaction(context, limit, transaction)
                try await loadFiles(into: destination)
                result = destination.progress
                if limit.isDryRun {
                    try transaction.connection.run(script: "set constraints all immediate")
                    throw TakenBack()
                }
                return try result.stored(share: 1)
            }
            return try ImportProgress(context.progress).report
        } catch is TakenBack {
            try await context.batch { _ in try result.stored(share: 1) }
            return result.report
        } catch let error where !(error is JobInterruption) {
            // Of what was shown meanwhile nothing stayed.
            try context.beside(rowsDone: 0)
            throw error
        }
    }

    // MARK: Files

    private func loadFiles(into destination: some BatchDestination) async throws {
        let target = try await destination.read { connection in
            try ImportTarget(connection, name: arguments.tableName)
        }
        while destination.progress.checkpoint.file < files.count {
            let file = files[destination.progress.checkpoint.file]
            do {
                try await load(file, into: destination, target)
            } catch let error as ReadError {
                throw JobFailure(
                    error.message,
                    position: error.line.map { "\(file.name) line \($0)" }
                )
            }
        }
    }

    private func load(
        _ file: OpenFile,
        into destination: some BatchDestination,
        _ target: ImportTarget
    ) async throws {
        let checkpoint = destination.progress.checkpoint
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
        let plan = try await destination.read { connection in
            try ImportPlan(target, arguments, names: names, file: checkpoint.file, connection)
        }
        if limit.isDryRun { note(plan.mapping, of: file, in: destination) }
        try await reader.start(plan.layout, from: checkpoint.position)
        let all = files.reduce(0.0) { $0 + Double($1.size) }
        let before = files[..<checkpoint.file].reduce(0.0) { $0 + Double($1.size) }
        try await loadBatches(
            of: FileInProgress(
                file: file,
                plan: plan,
                rejectFile: opened.rejectFile,
                shareBefore: all > 0 ? before / all : 1,
                shareOwn: all > 0 ? Double(file.size) / all : 0
            ),
            from: reader,
            into: destination
        )
    }

    private func note(
        _ columns: [ImportReport.Field],
        of file: OpenFile,
        in destination: some BatchDestination
    ) {
        let mapping = ImportReport.Mapping(file: file.name, columns: columns)
        // An attempt that goes on in the middle of a file has noted it before.
        let known = destination.progress.report.mapping ?? []
        if !known.contains(mapping) { destination.progress.report.mapping = known + [mapping] }
    }

    /// The next batch is read while the server works on this one.
    private func loadBatches(
        of file: FileInProgress,
        from reader: ImportReader,
        into destination: some BatchDestination
    ) async throws {
        var pending = reader.batch(rows: sizer.rows, bytes: batchBytes)
        defer { pending.cancel() }
        while true {
            let batch = try await pending.value
            if !batch.isLast { pending = reader.batch(rows: sizer.rows, bytes: batchBytes) }
            try file.file.checkUnchanged()
            try await destination.load(batch, of: file, &sizer)
            if batch.isLast { return }
        }
    }
}
