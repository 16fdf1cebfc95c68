/// How long each try waits for its locks, and how long all rests before the next one.
///
/// Whoever comes while a strong lock is waited for queues behind the wait, so the waits are short; and those who
/// queued must be through before the next one.
struct LockLadder {
    private let maxBlock: Duration
    private let total: Duration
    private var tries = 0
    private var spent: Duration = .zero

    init(maxBlock: Duration, total: Duration) {
        self.maxBlock = maxBlock
        self.total = total
    }

    /// How long the present try may wait for locks: 50 ms, doubling to 400 ms.
    var rung: Duration { min(.milliseconds(50 << min(tries, 3)), maxBlock) }

    /// Notes that a try waited in vain.
    ///
    /// - Parameters:
    ///   - took: How long the try took.
    ///   - random: A number from 0 to 1 that keeps two of them from meeting again and again.
    /// - Returns: How long to rest before the next one: 100 ms, doubling to 5 s, half of it random; nil when all
    ///   the time is spent.
    mutating func failed(took: Duration, random: Double) -> Duration? {
        let rest = Duration.milliseconds(min(100 << min(tries, 10), 5000)) * (0.5 + random / 2)
        tries += 1
        spent += took + rest
        return spent > total ? nil : rest
    }
}
