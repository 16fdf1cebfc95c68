internal import Bulkhead

/// Where the next batch of an import starts.
struct ImportCheckpoint: Codable, Equatable {
    /// The file, counted from 0 in the order of the arguments.
    var file = 0
    /// The place in it.
    var position = ReadPosition.start
    /// What the file was when its first batch was read; nil at the start of a file.
    var identity: FileIdentity?
}

/// An import's committed state, as the engine keeps it.
struct ImportProgress {
    var checkpoint = ImportCheckpoint()
    var report = ImportReport()
    var totals: ImportTotals { report.totals }

    /// Nothing has been read.
    init() {}

    init(_ progress: Progress) throws {
        if let text = progress.checkpoint { checkpoint = try text.decode() }
        if let text = progress.result { report = try text.decode() }
    }

    /// The same for the engine; the share of all input that has been read tells the total.
    func stored(share: Double) throws -> Progress {
        var total: Int64?
        if share > 0 { total = max(totals.read, Int64(min(9e15, Double(totals.read) / share))) }
        return Progress(
            checkpoint: try JSONText(encoding: checkpoint),
            rowsDone: totals.read,
            rowsTotal: total,
            result: try JSONText(encoding: report)
        )
    }
}
