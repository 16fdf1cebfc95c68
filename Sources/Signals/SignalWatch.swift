@preconcurrency package import Dispatch
internal import Glibc
internal import Synchronization

/// Calls a closure with each signal of some kinds, on a queue of its own.
///
/// The system's handler writes into a pipe, so that none is lost: a dispatch source for signals needs them
/// ignored, and one that comes before it listens is gone.
package enum SignalWatch {
    /// Lets signals through to this thread: who starts the program may have blocked them, and a child
    /// inherits that.
    package static func unblock() {
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
    }

    /// Watches from here on, until the process ends; one watch is enough for a process.
    package static func start(
        _ signals: [Int32],
        _ handle: @escaping @Sendable (Int32, DispatchQueue) -> Void
    ) {
        var ends: [Int32] = [-1, -1]
        let status = pipe(&ends)
        precondition(status == 0, "pipe failed with errno \(errno)")
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        let reading = ends[0]
        writingEnd.store(ends[1], ordering: .sequentiallyConsistent)
        let queue = DispatchQueue(label: "bulkhead.signals")
        let source = DispatchSource.makeReadSource(fileDescriptor: reading, queue: queue)
        source.setEventHandler { @Sendable in
            // Holds on to itself, for as long as the process lives.
            withExtendedLifetime(source) {
                var signal: UInt8 = 0
                while read(reading, &signal, 1) == 1 { handle(Int32(signal), queue) }
            }
        }
        source.resume()
        for signal in signals {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = noteSignal
            action.sa_flags = SA_RESTART
            sigaction(signal, &action, nil)
        }
    }
}

private let writingEnd = Atomic<Int32>(-1)

/// Runs in the middle of anything, so it may do no more than write.
private func noteSignal(_ signal: Int32) {
    let before = errno
    var byte = UInt8(truncatingIfNeeded: signal)
    _ = write(writingEnd.load(ordering: .sequentiallyConsistent), &byte, 1)
    errno = before
}
