/// Takes the server's own SQL apart: words, and everything else as it is.
struct SQLScanner {
    enum Token: Equatable {
        case word(String)
        /// A literal, a quoted identifier, or a single sign.
        case other(String)
    }

    private let text: [Character]
    private var place = 0

    init(_ text: String) {
        self.text = Array(text)
    }

    mutating func next() -> Token? {
        guard place < text.count else { return nil }
        let start = place
        let first = text[place]
        place += 1
        if first == "'" || first == "\"" {
            skipQuoted(first, hasEscapes: start > 0 && text[start - 1] == "E")
            return .other(String(text[start..<place]))
        }
        guard isWordSign(first), !first.isNumber else { return .other(String(first)) }
        while place < text.count, isWordSign(text[place]) { place += 1 }
        return .word(String(text[start..<place]))
    }

    /// Skips exactly this text if it comes next.
    mutating func skip(_ expected: String) -> Bool {
        guard text[place...].starts(with: expected) else { return false }
        place += expected.count
        return true
    }

    /// Skips a number in parentheses if one comes next, and returns it with them.
    mutating func skipParenthesised() -> String? {
        guard place < text.count, text[place] == "(",
            let end = text[place...].firstIndex(of: ")"),
            text[(place + 1)..<end].allSatisfy(\.isNumber)
        else { return nil }
        defer { place = end + 1 }
        return String(text[place...end])
    }

    /// Whether what comes next is one argument in parentheses.
    func takesOneArgument() -> Bool {
        var ahead = self
        guard ahead.skip("(") else { return false }
        var depth = 1
        while let token = ahead.next() {
            switch token {
            case .other("("), .other("["): depth += 1
            case .other(")"), .other("]"): depth -= 1
            case .other(",") where depth == 1: return false
            default: break
            }
            if depth == 0 { return true }
        }
        return false
    }

    private mutating func skipQuoted(_ quote: Character, hasEscapes: Bool) {
        while place < text.count {
            let sign = text[place]
            place += 1
            if sign == "\\", hasEscapes {
                place = min(place + 1, text.count)
            } else if sign == quote {
                // A doubled quote is one of the text.
                guard place < text.count, text[place] == quote else { return }
                place += 1
            }
        }
    }

    private func isWordSign(_ sign: Character) -> Bool {
        sign.isLetter || sign.isNumber || sign == "_" || sign == "$"
    }
}
