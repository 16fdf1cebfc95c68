internal import FoundationEssentials
internal import Glibc
internal import Postgres

/// A file descriptor that takes log lines and never holds up whoever writes one.
final class LogOutput: Sendable {
    let level: Logger.Level
    private let format: Logger.Format
    private let descriptor: Int32
    private let dropped = Lock(0)

    /// A pipe takes this much in one piece, so lines of several threads never mix.
    private static let longestLine = 4000

    init(level: Logger.Level, format: Logger.Format, descriptor: Int32) {
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
        switch format {
        case .text: write(line: textLine(time, level, message, fields))
        case .json: write(line: jsonLine(time, level, message, fields))
        }
    }

    /// Writes when the descriptor takes a line at once; a full or broken pipe loses lines, which are
    /// counted, and never stops the process.
    private func write(line: String) {
        dropped.withLock { dropped in
            guard isWritable else {
                dropped += 1
                return
            }
            if dropped > 0, put("\(dropped) log lines were lost: nobody read them") { dropped = 0 }
            if !put(line) { dropped += 1 }
        }
    }

    private var isWritable: Bool {
        var descriptor = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&descriptor, 1, 0) == 1 && descriptor.revents & Int16(POLLOUT) != 0
    }

    private func put(_ line: String) -> Bool {
        var bytes = Array(line.utf8.prefix(Self.longestLine))
        bytes.append(UInt8(ascii: "\n"))
        return Glibc.write(descriptor, bytes, bytes.count) == bytes.count
    }

    private func textLine(
        _ time: String,
        _ level: Logger.Level,
        _ message: String,
        _ fields: [(key: String, value: String)]
    ) -> String {
        var line = "\(time) \(level.rawValue) \(oneLine(message))"
        for field in fields {
            let value = oneLine(field.value)
            let mustQuote = value.isEmpty || value.contains { $0 == " " || $0 == "\"" || $0 == "=" }
            line += mustQuote ? " \(field.key)=\"\(escaped(value))\"" : " \(field.key)=\(value)"
        }
        return line
    }

    private func jsonLine(
        _ time: String,
        _ level: Logger.Level,
        _ message: String,
        _ fields: [(key: String, value: String)]
    ) -> String {
        let all =
            [("time", time), ("level", level.rawValue), ("message", message)]
            + fields.map { ($0.key, $0.value) }
        let pairs = all.map { "\"\(escaped($0.0))\":\"\(escaped(cut($0.1)))\"" }
        return "{\(pairs.joined(separator: ","))}"
    }

    /// A long value would cut the line in the middle of its JSON.
    private func cut(_ value: String) -> String {
        value.utf8.count > 1000 ? String(value.prefix(250)) + "…" : value
    }

    private func oneLine(_ text: String) -> String {
        String(text.map { $0.isNewline ? " " : $0 })
    }

    private func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": escaped += "\\\""
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
