internal import Bulkhead

/// How many rows a job may reject, and how many of them it keeps.
struct RejectLimit {
    private let allowed: Int64
    /// Whether the job only says what it would do: then it looks at all rows, and keeps the first rejects.
    let isDryRun: Bool

    private static let keptInDryRun: Int64 = 1000

    init(_ arguments: ImportArguments) {
        allowed = arguments.maxRejects ?? 0
        isDryRun = arguments.dryRun ?? false
    }

    /// How many more there may be.
    func left(after totals: ImportTotals) -> Int64 {
        isDryRun ? .max : allowed - totals.rejected
    }

    /// How many of so many rejects are kept.
    func keptCount(of rejected: Int64) -> Int64 {
        isDryRun ? min(rejected, Self.keptInDryRun) : rejected
    }

    /// Those of a batch that are kept.
    func kept(_ rejects: [Reject], after totals: ImportTotals) -> [Reject] {
        guard isDryRun else { return rejects }
        let room = Self.keptInDryRun - min(totals.rejected, Self.keptInDryRun)
        return Array(rejects.sorted { $0.offset < $1.offset }.prefix(Int(room)))
    }

    /// The error of a job that rejects more than it may.
    func failure(_ error: TooManyRejects, job: Int64) -> JobFailure {
        guard let first = error.rejects.min(by: { $0.offset < $1.offset }) else {
            return JobFailure("too many rows were rejected")
        }
        let limit = allowed == 0 ? "" : " (more than --max-rejects \(allowed))"
        return JobFailure(
            "\(first.description)\(limit); see all with `bulkhead rejects \(job)`, or allow some "
                + "with --max-rejects",
            sqlstate: first.sqlstate,
            position: "\(first.file) line \(first.line)"
        )
    }

    /// - Throws: `JobFailure` when a dry run found more bad rows than the import may reject.
    func check(_ totals: ImportTotals, job: Int64) throws {
        guard isDryRun, totals.rejected > allowed else { return }
        throw JobFailure(
            "dry run, nothing was changed: \(totals.rejected) of \(totals.read) rows would be rejected, more than "
                + "--max-rejects \(allowed); see the first with `bulkhead rejects \(job)`"
        )
    }
}
