/// Chooses how many rows a batch takes, so that one takes about a quarter of a second.
///
/// The rate is a decayed mean over the last batches: each new one counts for a quarter more than all
/// before it together lose (pt-online-schema-change's rule for its chunk size).
struct BatchSizer {
    /// Rows for the next batch.
    private(set) var rows: Int
    private let isFixed: Bool
    private var meanRows = 0.0
    private var meanSeconds = 0.0

    private static let target = 0.25
    private static let first = 500
    private static let limits = 50...50_000

    /// Starts with a fixed size, or with one that adapts.
    init(fixed: Int? = nil) {
        rows = fixed ?? Self.first
        isFixed = fixed != nil
    }

    /// Notes how long a batch took; the next one is at most twice as large.
    mutating func took(_ duration: Duration, rows done: Int) {
        guard !isFixed, done > 0 else { return }
        meanRows = 0.75 * meanRows + Double(done)
        meanSeconds = 0.75 * meanSeconds + max(duration / .seconds(1), 1e-6)
        let aim = min(Self.target * meanRows / meanSeconds, Double(rows) * 2)
        rows = min(max(Int(aim), Self.limits.lowerBound), Self.limits.upperBound)
    }
}
