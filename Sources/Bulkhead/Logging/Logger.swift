internal import FoundationEssentials

/// Writes structured lines to standard error, with fields that every line of it carries.
public struct Logger: Sendable {
    private let output: LogOutput
    private var fields: [(key: String, value: String)] = []

    /// How much a line matters.
    public enum Level: String, Sendable, CaseIterable, Comparable {
        case debug, info, warning, error

        /// Whether the left one matters less.
        public static func < (left: Level, right: Level) -> Bool {
            allCases.firstIndex(of: left) ?? 0 < allCases.firstIndex(of: right) ?? 0
        }
    }

    /// How a line looks.
    public enum Format: String, Sendable, CaseIterable {
        /// `2026-11-02T10:00:00Z info ready workers=2`
        case text
        /// One JSON object a line.
        case json
    }

    /// Makes a logger that writes lines of a level and above to a file descriptor.
    ///
    /// Whatever owns the descriptor lives at least as long as the logger.
    public init(
        level: Level = .info,
        format: Format = .text,
        descriptor: Int32 = 2,
        owner: (any Sendable)? = nil
    ) {
        output = LogOutput(level: level, format: format, descriptor: descriptor, owner: owner)
    }

    /// A logger whose lines carry one more field.
    public func with(_ key: String, _ value: some CustomStringConvertible) -> Logger {
        var logger = self
        logger.fields.append((key, value.description))
        return logger
    }

    /// For whoever looks for a fault.
    public func debug(_ message: String, _ fields: KeyValuePairs<String, String> = [:]) {
        log(.debug, message, fields)
    }

    /// What happens in normal life.
    public func info(_ message: String, _ fields: KeyValuePairs<String, String> = [:]) {
        log(.info, message, fields)
    }

    /// What someone should know of, though it mends itself.
    public func warning(_ message: String, _ fields: KeyValuePairs<String, String> = [:]) {
        log(.warning, message, fields)
    }

    /// What someone has to mend.
    public func error(_ message: String, _ fields: KeyValuePairs<String, String> = [:]) {
        log(.error, message, fields)
    }

    private func log(_ level: Level, _ message: String, _ more: KeyValuePairs<String, String>) {
        guard level >= output.level else { return }
        output.write(level, message, fields + more.map { ($0.key, $0.value) }, at: .now)
    }
}
