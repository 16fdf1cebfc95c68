@preconcurrency internal import Dispatch
internal import Glibc
internal import Postgres
internal import Signals

/// Ends a verb that prints without an end: at Ctrl-C, and when its reader has gone.
final class WatchEnding: Sendable {
    private let interrupted = Lock(false)

    /// How the program ends now.
    var status: ExitStatus { interrupted.withLock { $0 } ? .interrupted : .done }

    /// Calls the closure when it is time to end; what is being printed then may be finished.
    ///
    /// Where it cannot, since nobody takes it, the process ends a second later.
    func start(_ end: @escaping @Sendable () -> Void) {
        SignalWatch.start([SIGINT]) { [self] _, queue in
            interrupted.withLock { $0 = true }
            end()
            queue.asyncAfter(deadline: .now() + .seconds(1)) {
                _exit(ExitStatus.interrupted.rawValue)
            }
        }
        let reader = ExecutorThread(name: "bulkhead-reader")
        Task(executorPreference: reader) {
            Self.waitForReaderToGo()
            end()
        }
    }

    /// Returns once the reader of a pipe has gone; never where standard output is a file.
    ///
    /// Else it would be noticed only with the next change, which may be hours away.
    private static func waitForReaderToGo() {
        var output = pollfd(fd: 1, events: 0, revents: 0)
        while poll(&output, 1, -1) < 0, errno == EINTR {}
        if output.revents & Int16(POLLERR | POLLHUP) != 0 { return }
        while true { pause() }
    }
}
