internal import Postgres

/// Makes a job wait between its batches: for as long as it is told to rest, and while a limit is exceeded.
///
/// It only waits; the worker's connection is idle meanwhile, so the job holds no lock and no snapshot.
final class Throttle {
    private let job: Int64
    private let control: JobControl
    private let gauges: Gauges
    private let thread: ExecutorThread
    private var lastBatch: (took: Duration, end: ContinuousClock.Instant)?
    private var said: (gauge: Gauge, at: ContinuousClock.Instant)?

    /// How long changed limits and new readings may go unseen.
    private static let step = Duration.milliseconds(200)
    /// How old readings may be; a governor that says nothing for so long holds up nobody.
    private static let patience = Duration.seconds(5)

    init(job: Int64, control: JobControl, gauges: Gauges, thread: ExecutorThread) {
        self.job = job
        self.control = control
        self.gauges = gauges
        self.thread = thread
    }

    /// Notes that a batch has ended.
    func batchTook(_ duration: Duration) {
        lastBatch = (duration, .now)
    }

    /// Returns when the next batch may start.
    ///
    /// - Parameter say: Is told what the job waits for, and nil when it waits no more.
    /// - Throws: `JobInterruption`.
    func wait(saying say: (String?) -> Void) async throws {
        try await rest()
        let start = ContinuousClock.now
        while true {
            switch verdict(now: .now) {
            case .goOn:
                return end(saying: say)
            case .unknown:
                if .now - start > Self.patience { return end(saying: say) }
            case .wait(let gauge, let reason):
                if isWorthSaying(gauge, since: start) {
                    said = (gauge, .now)
                    say(reason)
                }
            }
            try await wait(until: .now + Self.step)
        }
    }

    private func rest() async throws {
        guard let lastBatch else { return }
        while true {
            let end = lastBatch.end + lastBatch.took * control.limits.nice
            if .now >= end { return }
            try await wait(until: min(end, .now + Self.step))
        }
    }

    private func wait(until deadline: ContinuousClock.Instant) async throws {
        if let interruption = control.interruption { throw interruption }
        _ = await thread.wait(until: deadline)
        if let interruption = control.interruption { throw interruption }
    }

    private func verdict(now: ContinuousClock.Instant) -> JobLimits.Verdict {
        let limits = control.limits
        if limits.values.isEmpty { return .goOn }
        guard let readings = gauges.readings, now - readings.at < Self.patience else {
            return .unknown
        }
        return limits.verdict(on: readings, job: job)
    }

    /// Each word is a new version of the job's row, so the longer the wait, the rarer they are.
    private func isWorthSaying(_ gauge: Gauge, since start: ContinuousClock.Instant) -> Bool {
        guard let said, said.gauge == gauge else { return true }
        return .now - said.at >= max(.seconds(5), (.now - start) / 8)
    }

    private func end(saying say: (String?) -> Void) {
        if said != nil { say(nil) }
        said = nil
    }
}
