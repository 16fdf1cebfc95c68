/// Cuts SQL into tokens by the rules of the server's lexer and psql's, with standard_conforming_strings on.
struct SQLLexer {
    private let bytes: [UInt8]
    private var place = 0
    private var line = 1

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    /// The next token, comments included; nil at the end.
    ///
    /// - Throws: `SQLFlaw` for a quote or comment that is not closed.
    mutating func next() throws(SQLFlaw) -> SQLToken? {
        skipBlanks()
        guard let first = peek() else { return nil }
        let (start, startLine) = (place, line)
        let kind = try kind(of: first)
        for byte in bytes[start..<place] where byte == Self.newline { line += 1 }
        return SQLToken(kind: kind, range: start..<place, line: startLine)
    }

    /// All tokens, comments left out.
    static func tokens(_ text: String) throws(SQLFlaw) -> [SQLToken] {
        var lexer = SQLLexer(text)
        var tokens: [SQLToken] = []
        while let token = try lexer.next() {
            if !token.isComment { tokens.append(token) }
        }
        return tokens
    }

    /// The text of a stretch of bytes.
    func text(_ range: Range<Int>) -> String {
        String(decoding: bytes[range], as: UTF8.self)
    }

    // MARK: Tokens

    private mutating func kind(of first: UInt8) throws(SQLFlaw) -> SQLToken.Kind {
        switch first {
        case UInt8(ascii: "'"):
            try skipString(hasEscapes: false)
            return .string
        case UInt8(ascii: "\""):
            return .quotedName(try quotedName())
        case UInt8(ascii: "-") where peek(1) == UInt8(ascii: "-"):
            skipLine()
            return .lineComment
        case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "*"):
            try skipComment()
            return .blockComment
        case UInt8(ascii: "$"):
            return try dollar()
        case let byte where Self.startsWord(byte):
            return try word()
        case let byte where Self.isDigit(byte):
            while let byte = peek(),
                Self.isDigit(byte) || Self.startsWord(byte) || byte == UInt8(ascii: ".")
            {
                place += 1
            }
            return .number
        default:
            place += 1
            return .symbol(first)
        }
    }

    private mutating func word() throws(SQLFlaw) -> SQLToken.Kind {
        let start = place
        while let byte = peek(), Self.continuesWord(byte) { place += 1 }
        let word = text(start..<place).lowercased()
        guard word == "e", peek() == UInt8(ascii: "'") else { return .word(word) }
        try skipString(hasEscapes: true)
        return .string
    }

    private mutating func dollar() throws(SQLFlaw) -> SQLToken.Kind {
        let start = place
        var end = place + 1
        while end < bytes.count, Self.continuesTag(bytes[end], isFirst: end == start + 1) {
            end += 1
        }
        guard end < bytes.count, bytes[end] == UInt8(ascii: "$") else {
            place += 1
            return .symbol(UInt8(ascii: "$"))
        }
        let tag = bytes[start...end]
        place = end + 1
        while place + tag.count <= bytes.count {
            if bytes[place] == UInt8(ascii: "$"), bytes[place..<(place + tag.count)] == tag {
                place += tag.count
                return .string
            }
            place += 1
        }
        throw flaw("the text that \(String(decoding: tag, as: UTF8.self)) opens is not closed")
    }

    /// A string goes on behind a line end: 'a' and 'b' on the next line are one, with the escapes of the first.
    private mutating func skipString(hasEscapes: Bool) throws(SQLFlaw) {
        repeat {
            place += 1
            try skipQuoted(UInt8(ascii: "'"), hasEscapes: hasEscapes)
        } while continuesString()
    }

    private mutating func continuesString() -> Bool {
        let end = place
        var hasNewline = false
        while let byte = peek() {
            if Self.isBlank(byte) {
                hasNewline = hasNewline || byte == Self.newline || byte == UInt8(ascii: "\r")
                place += 1
            } else if byte == UInt8(ascii: "-"), peek(1) == byte {
                skipLine()
            } else {
                break
            }
        }
        if hasNewline, peek() == UInt8(ascii: "'") { return true }
        place = end
        return false
    }

    private mutating func quotedName() throws(SQLFlaw) -> String {
        place += 1
        let start = place
        try skipQuoted(UInt8(ascii: "\""), hasEscapes: false)
        return text(start..<(place - 1)).split(separator: "\"\"", omittingEmptySubsequences: false)
            .joined(separator: "\"")
    }

    /// Skips to behind the closing quote; a doubled one is one of the text.
    private mutating func skipQuoted(_ quote: UInt8, hasEscapes: Bool) throws(SQLFlaw) {
        while let byte = peek() {
            place += 1
            if byte == UInt8(ascii: "\\"), hasEscapes {
                place = min(place + 1, bytes.count)
            } else if byte == quote {
                guard peek() == quote else { return }
                place += 1
            }
        }
        throw flaw("the quote \(Character(Unicode.Scalar(quote))) is not closed")
    }

    private mutating func skipLine() {
        while let byte = peek(), byte != Self.newline, byte != UInt8(ascii: "\r") { place += 1 }
    }

    private mutating func skipComment() throws(SQLFlaw) {
        var depth = 0
        while let byte = peek() {
            if byte == UInt8(ascii: "/"), peek(1) == UInt8(ascii: "*") {
                depth += 1
                place += 2
            } else if byte == UInt8(ascii: "*"), peek(1) == UInt8(ascii: "/") {
                depth -= 1
                place += 2
                if depth == 0 { return }
            } else {
                place += 1
            }
        }
        throw flaw("the comment that /* opens is not closed")
    }

    private mutating func skipBlanks() {
        while let byte = peek(), Self.isBlank(byte) {
            if byte == Self.newline { line += 1 }
            place += 1
        }
    }

    private func flaw(_ message: String) -> SQLFlaw { SQLFlaw(message: message, line: line) }

    private func peek(_ ahead: Int = 0) -> UInt8? {
        place + ahead < bytes.count ? bytes[place + ahead] : nil
    }

    // MARK: Bytes

    private static let newline = UInt8(ascii: "\n")

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || (0x09...0x0D).contains(byte)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func startsWord(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "_")
            || byte >= 0x80
    }

    private static func continuesWord(_ byte: UInt8) -> Bool {
        startsWord(byte) || isDigit(byte) || byte == UInt8(ascii: "$")
    }

    private static func continuesTag(_ byte: UInt8, isFirst: Bool) -> Bool {
        startsWord(byte) || (!isFirst && isDigit(byte))
    }
}
