internal import Postgres

/// Reads one file ahead of its worker, on a thread of its own.
actor ImportReader {
    nonisolated let thread: ExecutorThread
    nonisolated let unownedExecutor: UnownedSerialExecutor

    private let file: OpenFile
    private let format: FileFormat
    private var layout: Layout?
    private var reader: RecordReader?

    /// How the file's records become rows.
    struct Layout: Sendable {
        let encoder: any RowEncoder
        /// The names of the file's fields, for rejects.
        let fieldNames: [String]
        /// Writes keys for the feed, where the file alone can tell them.
        let feedKey: FeedKey?
    }

    /// What the start of a file tells.
    struct Opened: Sendable {
        /// The names in the header; nil without a header.
        let names: [String]?
        let rejectFile: RejectFile
    }

    init(file: OpenFile, format: FileFormat) {
        self.file = file
        self.format = format
        thread = ExecutorThread(name: "bulkhead-reader")
        unownedExecutor = thread.asUnownedSerialExecutor()
    }

    deinit {
        thread.stop()
    }

    /// Opens the file and reads its header.
    ///
    /// - Parameters:
    ///   - skip: Physical lines before the header.
    ///   - hasHeader: Whether there is a header.
    /// - Returns: What its start tells.
    /// - Throws: `ReadError`.
    func open(skip: Int, hasHeader: Bool) throws -> Opened {
        let reader = try format.reader(of: file)
        try reader.skipLines(skip)
        let names = hasHeader ? try reader.readHeader() : nil
        self.reader = reader
        return Opened(
            names: names,
            rejectFile: RejectFile(
                name: file.name,
                header: reader.header,
                isConverted: reader.isConverted
            )
        )
    }

    /// Sets how rows are written, and goes to the place where an earlier attempt stopped.
    func start(_ layout: Layout, from position: ReadPosition) throws {
        self.layout = layout
        guard position != .start else { return }
        reader = try format.reader(of: file, from: position)
    }

    /// Reads the next batch while the caller does something else.
    ///
    /// It takes so many rows at most, and is closed once it holds so many bytes of the file.
    nonisolated func batch(rows: Int, bytes: Int) -> Task<ParsedBatch, any Error> {
        // Started on the reader's own thread: the worker's is about to block.
        Task(executorPreference: thread) { try await self.read(rows: rows, bytes: bytes) }
    }

    private func read(rows: Int, bytes: Int) throws -> ParsedBatch {
        guard let layout else { return ParsedBatch() }
        return try read(rows: rows, bytes: bytes, layout, layout.encoder)
    }

    private func read<Encoder: RowEncoder>(
        rows: Int,
        bytes: Int,
        _ layout: Layout,
        _ encoder: Encoder
    ) throws -> ParsedBatch {
        guard let reader else { return ParsedBatch() }
        var encoder = encoder
        var batch = ParsedBatch(rows: rows, bytes: bytes)
        if layout.feedKey != nil { batch.ids = FeedIDs() }
        while batch.count < rows, batch.raw.count < bytes {
            try Task.checkCancellation()
            guard let record = try reader.next() else {
                batch.isLast = true
                break
            }
            if let problem = encoder.encode(record, into: &batch.text) {
                batch.rejects.append(reject(record, problem, layout.fieldNames, encoder))
                continue
            }
            batch.append(record, missing: encoder.missing)
            if let key = layout.feedKey {
                batch.ids?.append(key) { encoder.value(at: $0, of: record) }
            }
        }
        batch.end = reader.position
        batch.share = reader.fractionRead
        return batch
    }

    private func reject(
        _ record: borrowing Record,
        _ problem: RecordProblem,
        _ names: [String],
        _ encoder: some RowEncoder
    ) -> Reject {
        let field = problem.field.map { $0 - 1 }
        let name = field.flatMap { names.indices.contains($0) ? names[$0] : nil }
        return Reject(
            file: file.name,
            line: record.line,
            offset: record.offset,
            columnName: problem.column ?? name,
            value: problem.value ?? field.flatMap { encoder.value(at: $0, of: record) },
            sqlstate: problem.sqlstate,
            message: problem.message,
            raw: record.bytes,
            rowBytes: record.length,
            lineEnd: record.lineEnd
        )
    }
}
