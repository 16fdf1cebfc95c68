internal import Postgres

/// Decides whether a failed try is made again in place, and after how long.
///
/// While the server cannot be reached the clock stands still: that is nobody's fault and ends by itself.
/// Any other failure uses up the patience.
struct Persistence {
    private let patience: Duration
    private var spent: Duration = .zero
    private var failures = 0

    enum Verdict: Equatable {
        case tryAgain(after: Duration)
        case giveUp
    }

    init(patience: Duration) {
        self.patience = patience
    }

    /// Judges a failure of the server.
    ///
    /// - Parameters:
    ///   - kind: What kind of failure it was.
    ///   - took: How long the try took.
    ///   - random: A number from 0 to 1 that spreads the delays.
    /// - Returns: Whether and when to try again.
    mutating func failed(_ kind: PostgresError.Kind, took: Duration, random: Double) -> Verdict {
        switch kind {
        case .unavailable:
            return .tryAgain(after: delay(random))
        case .connectionLost, .transient, .cancelled, .fenced:
            let delay = delay(random)
            spent += took + delay
            return spent > patience ? .giveUp : .tryAgain(after: delay)
        case .conflict, .badData, .permission, .permanent:
            return .giveUp
        }
    }

    /// 50 ms, doubling to 5 s, half of it random.
    mutating func delay(_ random: Double) -> Duration {
        let base = min(5.0, 0.05 * Double(1 << min(failures, 10)))
        failures += 1
        return .seconds(base * (0.5 + random / 2))
    }
}
