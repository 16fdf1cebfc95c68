internal import Foundation
internal import Signals

/// Hands the signals that ask a program to end on to the command.
///
/// This process must outlive the command, to clear away after it.
struct SignalRelay {
    private let signals: AsyncStream<Int32>

    /// Begins to collect signals; what comes before there is a command is kept for it.
    init() {
        let (signals, continuation) = AsyncStream.makeStream(of: Int32.self)
        self.signals = signals
        SignalWatch.start([SIGHUP, SIGINT, SIGQUIT, SIGTERM]) { signal, _ in
            continuation.yield(signal)
        }
    }

    /// Sends what arrives to the command, until it is cancelled.
    func forward(to child: ChildProcess) async {
        for await signal in signals where !reachesAll(signal) {
            kill(child.id, signal)
        }
    }

    /// Whether the command has the signal already: the terminal's keys send it to the whole group.
    private func reachesAll(_ signal: Int32) -> Bool {
        guard signal == SIGINT || signal == SIGQUIT else { return false }
        let terminal = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { return false }
        defer { close(terminal) }
        return tcgetpgrp(terminal) == getpgrp()
    }
}
