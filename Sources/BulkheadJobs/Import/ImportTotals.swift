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
