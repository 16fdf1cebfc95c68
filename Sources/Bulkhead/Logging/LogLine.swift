/// One line of a log, with its line end; whatever its texts hold, it stays one line of its format.
struct LogLine {
    let bytes: [UInt8]

    /// A pipe takes this much in one piece, so lines of several threads never mix.
    private static let longest = 4096
    /// What one value may take, escaped.
    private static let longestValue = 1000

    init(
        _ format: Logger.Format,
        _ time: String,
        _ level: Logger.Level,
        _ message: String,
        _ fields: [(key: String, value: String)]
    ) {
        var line: String
        let end: String
        switch format {
        case .text:
            line = "\(time) \(level.rawValue) \(Self.escaped(message))"
            end = "\n"
        case .json:
            line = "{\"time\":\"\(time)\",\"level\":\"\(level.rawValue)\""
            line += ",\"message\":\"\(Self.escaped(message, quotes: true))\""
            end = "}\n"
        }
        for field in fields {
            let part = Self.part(format, field.key, field.value)
            // Whole fields or nothing: a line that is cut anywhere is not JSON.
            guard line.utf8.count + part.utf8.count + end.utf8.count <= Self.longest else { break }
            line += part
        }
        bytes = Array((line + end).utf8)
    }

    private static func part(_ format: Logger.Format, _ key: String, _ value: String) -> String {
        switch format {
        case .json:
            return ",\"\(escaped(key, quotes: true))\":\"\(escaped(value, quotes: true))\""
        case .text:
            let isPlain = !value.isEmpty && value.unicodeScalars.allSatisfy(isPlain)
            return isPlain && value.utf8.count <= longestValue
                ? " \(key)=\(value)" : " \(key)=\"\(escaped(value, quotes: true))\""
        }
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        scalar != " " && scalar != "\"" && scalar != "=" && scalar != "\\" && !mustEscape(scalar)
    }

    /// What would end the line, or speak to the terminal.
    private static func mustEscape(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control || scalar == "\u{2028}"
            || scalar == "\u{2029}"
    }

    /// The text as it may stand in a line, with `quotes` between quotes.
    private static func escaped(_ text: String, quotes: Bool = false) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"" where quotes, "\\" where quotes:
                escaped += "\\\(scalar)"
            case "\n": escaped += quotes ? "\\n" : " "
            case _ where mustEscape(scalar):
                let digits = String(scalar.value, radix: 16)
                escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: escaped.unicodeScalars.append(scalar)
            }
            if escaped.utf8.count > longestValue { return escaped + "…" }
        }
        return escaped
    }
}
