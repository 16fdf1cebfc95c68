/// What the governor saw when it looked last.
struct GaugeReadings: Sendable {
    let at: ContinuousClock.Instant
    private var ofAll: [Gauge: Reading] = [:]
    private var ofJobs: [Int64: [Gauge: Reading]] = [:]

    enum Reading: Sendable, Equatable {
        /// A value, and what has it where that helps.
        case value(Double, of: String? = nil)
        /// It cannot be read, and why.
        case unreadable(String)
    }

    init(at: ContinuousClock.Instant) {
        self.at = at
    }

    /// What counts for a job; nil when it was not looked at, or cannot be told yet.
    subscript(gauge: Gauge, job: Int64) -> Reading? {
        get { ofJobs[job]?[gauge] ?? ofAll[gauge] }
        set { ofJobs[job, default: [:]][gauge] = newValue }
    }

    /// What counts for all jobs that have none of their own.
    subscript(gauge: Gauge) -> Reading? {
        get { ofAll[gauge] }
        set { ofAll[gauge] = newValue }
    }
}
