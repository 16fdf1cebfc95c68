internal import Glibc

/// Where results go (standard output) and everything else (standard error).
struct Terminal: Sendable {
    let isQuiet: Bool
    let printsJSON: Bool

    /// Whether someone is looking at standard error.
    var isInteractive: Bool { isatty(2) == 1 && !isQuiet }

    /// The width of the terminal, or 80.
    var width: Int {
        var size = winsize()
        return ioctl(2, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 20 ? Int(size.ws_col) : 80
    }

    /// Prints a result.
    ///
    /// - Throws: When nobody takes it, such as a closed pipe.
    func result(_ text: String) throws {
        try Self.write(text + "\n", to: 1)
    }

    /// Says what is going on; nothing when told to be quiet.
    func note(_ text: String) {
        if !isQuiet { Self.say(text + "\n") }
    }

    /// Writes over the line that was drawn last.
    func draw(_ text: String) {
        Self.say("\r\u{1B}[K" + text)
    }

    /// Says what went wrong.
    static func error(_ text: String) {
        say("bulkhead: \(text)\n")
    }

    /// What cannot be said is lost: there is nobody to tell.
    private static func say(_ text: String) {
        do {
            try write(text, to: 2)
        } catch {
            return
        }
    }

    private static func write(_ text: String, to descriptor: Int32) throws {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                throw OutputError(errno: errno)
            }
            bytes = bytes.dropFirst(count)
        }
    }
}

/// A result that could not be printed.
struct OutputError: Error, CustomStringConvertible {
    let errno: Int32

    /// Whether the reader has seen enough, as `head` has.
    var isClosedPipe: Bool { errno == EPIPE }

    var description: String { "cannot write the result: \(String(cString: strerror(errno)))" }
}
