@preconcurrency internal import Dispatch
internal import Glibc
internal import Postgres
internal import Signals

/// Turns signals into a request to stop.
///
/// A second one, or a stop that takes too long, ends the process at once.
enum StopSignals {
    /// How long after the grace period what was cancelled may take to end.
    private static let patience = 10.0

    /// Heeds signals from here on.
    static func heed(
        _ signals: [Int32],
        grace: Duration,
        log: Logger,
        stop: @escaping @Sendable () -> Void
    ) {
        let isStopping = Lock(false)
        SignalWatch.start(signals) { _, queue in
            let isFirst = isStopping.withLock { isStopping in
                defer { isStopping = true }
                return !isStopping
            }
            guard isFirst else {
                log.warning(
                    "second signal: ending at once; the jobs are taken over when the lease ends"
                )
                _exit(1)
            }
            log.info("stopping", ["grace": "\(grace / .seconds(1))"])
            stop()
            queue.asyncAfter(deadline: .now() + grace / .seconds(1) + patience) {
                log.error(
                    "could not stop in time: ending; the jobs are taken over when the lease ends"
                )
                _exit(1)
            }
        }
    }
}
