internal import FoundationEssentials
internal import Glibc
internal import Postgres

/// A file descriptor that takes log lines and never holds up whoever writes one.
final class LogOutput: Sendable {
    let level: Logger.Level
    private let format: Logger.Format
    private let descriptor: Int32
    /// Keeps the descriptor open, lest lines go into whatever bears its number next.
    private let owner: (any Sendable)?
    private let dropped = Lock(0)

    init(
        level: Logger.Level,
        format: Logger.Format,
        descriptor: Int32,
        owner: (any Sendable)?
    ) {
        self.owner = owner
        self.level = level
        self.format = format
        self.descriptor = descriptor
    }

    func write(
        _ level: Logger.Level,
        _ message: String,
        _ fields: [(key: String, value: String)],
        at time: Date
    ) {
        let time = time.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        let line = LogLine(format, time, level, message, fields)
        dropped.withLock { dropped in
            guard isWritable else {
                dropped += 1
                return
            }
            if dropped > 0 {
                let loss = LogLine(
                    format,
                    time,
                    .warning,
                    "log lines were lost: nobody read them",
                    [
                        ("lines", "\(dropped)")
                    ]
                )
                if put(loss) { dropped = 0 }
            }
            if !put(line) { dropped += 1 }
        }
    }

    /// Whether the descriptor takes a line at once; a full or broken pipe loses lines, which are
    /// counted, and never stops the process.
    private var isWritable: Bool {
        var descriptor = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&descriptor, 1, 0) == 1 && descriptor.revents == Int16(POLLOUT)
    }

    private func put(_ line: LogLine) -> Bool {
        withoutBrokenPipeSignal {
            Glibc.write(descriptor, line.bytes, line.bytes.count) == line.bytes.count
        }
    }

    /// The reader of a pipe may go between the look and the writing.
    ///
    /// Its signal is blocked on this thread and taken, rather than ignored: that would be for the
    /// whole process and its children.
    private func withoutBrokenPipeSignal(_ body: () -> Bool) -> Bool {
        var signals = sigset_t()
        var before = sigset_t()
        var pending = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        sigpending(&pending)
        pthread_sigmask(SIG_BLOCK, &signals, &before)
        let isWritten = body()
        if !isWritten, errno == EPIPE, sigismember(&pending, SIGPIPE) == 0 {
            var atOnce = timespec(tv_sec: 0, tv_nsec: 0)
            sigtimedwait(&signals, nil, &atOnce)
        }
        pthread_sigmask(SIG_SETMASK, &before, nil)
        return isWritten
    }
}
