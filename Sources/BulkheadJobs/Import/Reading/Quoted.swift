/// A name as messages show it: between quotes, on one line, of bounded length.
struct Quoted: CustomStringConvertible {
    private static let limit = 200

    private let text: String

    init(_ text: String) {
        self.text = text
    }

    var description: String { "\"\(bare)\"" }

    /// The same without the quotes.
    var bare: String {
        var shown = ""
        for scalar in text.unicodeScalars.prefix(Self.limit) {
            if Self.mayMislead(scalar) {
                shown += scalar.escaped(asASCII: true)
            } else {
                shown.unicodeScalars.append(scalar)
            }
        }
        if text.unicodeScalars.dropFirst(Self.limit).isEmpty == false {
            shown += "..."
        }
        return shown
    }

    /// A line break in a name would forge a line of a log, and what cannot be seen hides there.
    private static func mayMislead(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: scalar == "\"" || scalar == "\\"
        }
    }
}
