internal import Glibc

/// Where results go (standard output) and everything else (standard error).
struct Terminal: Sendable {
    var isQuiet = false
    var printsJSON = false

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

    /// Writes bytes of a result as they are.
    ///
    /// - Throws: When nobody takes them, such as a closed pipe.
    func result(bytes: [UInt8]) throws {
        try Self.write(bytes, to: 1)
    }

    /// The text in red, where someone looks at the results and did not say that colours are unwanted.
    func red(_ text: String) -> String {
        isatty(1) == 1 && getenv("NO_COLOR") == nil ? "\u{1B}[31m\(text)\u{1B}[0m" : text
    }

    /// Says what is going on; nothing when told to be quiet.
    func note(_ text: String) {
        if !isQuiet { Self.say(text + "\n") }
    }

    /// Asks a question, to be answered on the same line.
    static func ask(_ question: String) {
        say(question)
    }

    /// Writes over the line that was drawn last.
    func draw(_ text: String) {
        Self.say("\r\u{1B}[K" + text)
    }

    /// Says what went wrong.
    static func error(_ text: String) {
        say("bulkhead: \(withoutPasswords(text))\n")
    }

    /// Hides the passwords of URLs, which may stand in what was typed in the wrong place.
    static func withoutPasswords(_ text: String) -> String {
        text.replacing(/(:\/\/[^:@\/\s]*:)[^\s]*@/) { match in "\(match.1)****@" }
            .replacing(/(password=)[^\s&]+/) { match in "\(match.1)****" }
    }

    /// Opens `/dev/null` in the place of a standard descriptor that the caller closed.
    ///
    /// A connection would else get its number, and what is meant for people would go to the server.
    static func occupyStandardDescriptors() {
        while true {
            let descriptor = open("/dev/null", O_RDWR)
            guard (0...2).contains(descriptor) else {
                if descriptor > 2 { close(descriptor) }
                return
            }
        }
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
        try write(Array(text.utf8), to: descriptor)
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) throws {
        var bytes = bytes[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                if errno == EAGAIN {
                    // Someone else made the pipe one that never blocks.
                    var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    _ = poll(&room, 1, -1)
                    continue
                }
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
