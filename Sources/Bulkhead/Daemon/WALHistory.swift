/// Where the server's WAL ended, and when: a byte becomes a moment by it, and a distance a rate.
struct WALHistory: Sendable {
    private var marks: [Mark] = []

    private struct Mark {
        let place: Int64
        let at: ContinuousClock.Instant
    }

    /// The time over which a rate is told: a job that stops and goes writes more than its limit by what it
    /// writes in a second, spread over this.
    private static let window = Duration.seconds(10)
    /// Enough for ten minutes; a longer lag is told as that.
    private static let capacity = 600

    /// Notes where the WAL ends now.
    mutating func add(_ place: Int64, at now: ContinuousClock.Instant) {
        if marks.count == Self.capacity { marks.removeFirst() }
        marks.append(Mark(place: place, at: now))
    }

    /// Bytes per second over the last seconds; nil before there are two marks in them.
    var rate: Double? {
        guard let last = marks.last,
            let first = marks.first(where: { last.at - $0.at <= Self.window }),
            first.at < last.at
        else { return nil }
        return Double(last.place - first.place) / ((last.at - first.at) / .seconds(1))
    }

    /// How long the WAL has reached further than a place, in seconds, as far as is known.
    func age(of place: Int64, now: ContinuousClock.Instant) -> Double {
        guard let mark = marks.first(where: { $0.place > place }) else { return 0 }
        return (now - mark.at) / .seconds(1)
    }

    /// Where the WAL ended last.
    var end: Int64? { marks.last?.place }
}
