/// Options for a delimited text file that contradict each other.
struct DialectError: Error, Sendable, Equatable, CustomStringConvertible {
    /// One line, safe to log and to show.
    let message: String

    init(_ message: String) {
        self.message = message
    }

    var description: String { message }
}
