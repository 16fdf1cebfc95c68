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
            // A line break or an escape sequence in a name would forge lines of a log.
            let isControl = scalar.properties.generalCategory == .control
            let breaksLine = scalar.value == 0x2028 || scalar.value == 0x2029
            if isControl || breaksLine || scalar == "\"" || scalar == "\\" {
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
}
