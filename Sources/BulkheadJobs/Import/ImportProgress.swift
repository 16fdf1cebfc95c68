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

/// What became of the rows that were read.
struct ImportTotals: Codable, Equatable {
    var read: Int64 = 0
    var inserted: Int64 = 0
    var updated: Int64 = 0
    var unchanged: Int64 = 0
    var skipped: Int64 = 0
    var rejected: Int64 = 0

    /// Adds the rows of one batch, of which each ended in one way.
    mutating func add(read: Int, _ outcome: BatchOutcome, _ policy: MergePolicy) {
        let merged = outcome.merged
        let left = read - merged.inserted - merged.updated - outcome.rejects.count
        let unchanged = policy.changesRows ? merged.unchanged ?? left : 0
        self.read += Int64(read)
        inserted += Int64(merged.inserted)
        updated += Int64(merged.updated)
        self.unchanged += Int64(unchanged)
        rejected += Int64(outcome.rejects.count)
        skipped += Int64(left - unchanged)
    }
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
