/// The account of a restore: the `result` of its job.
struct RestoreReport: Codable {
    var restored: Int64 = 0
    /// Rows that were there and took over archived values.
    var updated: Int64 = 0
    /// Rows that were there and stayed as they were.
    var skipped: Int64 = 0

    static func += (sum: inout RestoreReport, part: RestoreReport) {
        sum.restored += part.restored
        sum.updated += part.updated
        sum.skipped += part.skipped
    }
}
