public import Postgres

/// Chooses how many rows a batch takes, so that one takes about a quarter of a second.
///
/// The rate is a decayed mean over the last batches: each new one counts for a quarter more than all
/// before it together lose (pt-online-schema-change's rule for its chunk size).
public struct BatchSizer: Sendable {
    /// Rows for the next batch.
    public private(set) var rows: Int
    private let range: ClosedRange<Int>
    private let isFixed: Bool
    private var meanRows = 0.0
    private var meanSeconds = 0.0

    private static let target = 0.25

    /// Starts with a fixed size, or with one that adapts.
    ///
    /// - Parameters:
    ///   - fixed: The size of all batches; nil to adapt it.
    ///   - first: The size of the first batch, where it adapts.
    ///   - range: What it may become, where it adapts.
    public init(fixed: Int? = nil, first: Int = 500, in range: ClosedRange<Int> = 50...50_000) {
        rows = fixed ?? min(max(first, range.lowerBound), range.upperBound)
        isFixed = fixed != nil
        self.range = range
    }

    /// Notes how long a batch took; the next one is at most twice as large.
    ///
    /// - Parameters:
    ///   - duration: What `JobContext.batch` returned.
    ///   - done: How many rows it took.
    public mutating func took(_ duration: Duration, rows done: Int) {
        guard !isFixed, done > 0 else { return }
        meanRows = 0.75 * meanRows + Double(done)
        meanSeconds = 0.75 * meanSeconds + max(duration / .seconds(1), 1e-6)
        aim(for: min(Self.target * meanRows / meanSeconds, Double(rows) * 2))
    }

    /// Notes a try that failed; one that ended because it met others on the way halves the next batch.
    ///
    /// - Parameter error: Why it failed: waiting too long for a lock, a deadlock or a cancel count.
    public mutating func failed(_ error: PostgresError) {
        let reasons: [SQLState] = [.lockNotAvailable, .deadlockDetected, .queryCanceled]
        guard !isFixed, let state = error.state, reasons.contains(state) else { return }
        aim(for: Double(rows) / 2)
    }

    private mutating func aim(for wanted: Double) {
        rows = Int(min(max(wanted, Double(range.lowerBound)), Double(range.upperBound)))
    }
}
