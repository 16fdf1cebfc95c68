internal import Bulkhead
@preconcurrency internal import Dispatch
internal import Glibc

/// Turns SIGTERM and SIGINT into a request to stop; a second one, or a stop that takes too long, ends the
/// process at once.
final class StopSignals: Sendable {
    private let sources: [any DispatchSourceSignal]
    /// How long after the grace period what was cancelled may take to end.
    private static let patience = 10.0

    init(grace: Duration, log: Logger, stop: @escaping @Sendable () -> Void) {
        // A closed terminal does not end a daemon.
        signal(SIGHUP, SIG_IGN)
        let count = Counter()
        let queue = DispatchQueue(label: "bulkhead.signals")
        sources = [SIGTERM, SIGINT].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { @Sendable in
                guard count.next() == 1 else {
                    log.warning(
                        "second signal: ending at once; the jobs are taken over when the lease ends"
                    )
                    _exit(ExitStatus.failed.rawValue)
                }
                log.info("stopping", ["grace": "\(grace / .seconds(1))"])
                stop()
                queue.asyncAfter(deadline: .now() + grace / .seconds(1) + Self.patience) {
                    log.error(
                        "could not stop in time: ending; the jobs are taken over when the lease ends"
                    )
                    _exit(ExitStatus.failed.rawValue)
                }
            }
            source.resume()
            return source
        }
    }

    /// Lets go of the signals.
    func end() {
        for source in sources { source.cancel() }
    }

    /// Counts on the signals' queue alone.
    private final class Counter: @unchecked Sendable {
        // Safe: touched only by handlers on one serial queue.
        private var count = 0

        func next() -> Int {
            count += 1
            return count
        }
    }
}
