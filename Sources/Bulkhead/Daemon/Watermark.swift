/// Where the next claim of a queue starts looking: after the last claimed key.
///
/// A claim that starts at the first key walks the dead index entries of all earlier ones while an old
/// transaction holds back vacuum; one that starts at the last claimed key does not.
struct Watermark {
    private var key: Key?
    private var dropsAt: ContinuousClock.Instant

    /// The order in which jobs of a queue run.
    struct Key: Comparable, Sendable {
        let priority: Int32
        let id: Int64

        static func < (left: Key, right: Key) -> Bool {
            (left.priority, left.id) < (right.priority, right.id)
        }
    }

    init(now: ContinuousClock.Instant) {
        dropsAt = now
    }

    /// The key after which to look; nil to look at all.
    ///
    /// It is dropped every second, for jobs that committed late.
    mutating func start(now: ContinuousClock.Instant) -> Key? {
        if now >= dropsAt {
            key = nil
            dropsAt = now + .seconds(1)
        }
        return key
    }

    /// Notes the last key of a claim; one that came back short has seen everything.
    mutating func claimed(last: Key?, isShort: Bool) {
        key = isShort ? nil : last
    }

    /// Notes a job that was announced.
    mutating func announced(_ announced: Key) {
        if let key, announced <= key { self.key = nil }
    }

    /// Forgets the key.
    mutating func drop() {
        key = nil
    }
}
