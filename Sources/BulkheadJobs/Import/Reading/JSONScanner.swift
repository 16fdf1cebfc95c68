/// Finds where JSON values end, and refuses what RFC 8259 does not allow.
///
/// Foundation's parser is no use for rows: its numbers pass through a double, it takes the last of
/// repeated keys without a word, says nothing of where a value stands, and is too slow for bulk.
/// The bytes must be known to be valid UTF-8.
struct JSONScanner {
    /// The server's own parser gives up not far from here, and the file must not decide how much
    /// memory is used.
    static let mostLevels = 10_000

    /// The containers that are open around the value at hand, by their closing bytes.
    private var open: [UInt8] = []

    /// Passes over blanks.
    static func afterBlanks(_ bytes: Span<UInt8>, from start: Int) -> Int {
        var index = start
        while index < bytes.count, isBlank(bytes[index]) {
            index += 1
        }
        return index
    }

    static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == Byte.tab || byte == Byte.carriageReturn || byte == Byte.lineFeed
    }

    /// The value that begins here.
    mutating func value(_ bytes: Span<UInt8>, at start: Int) throws(JSONFlaw) -> JSONToken {
        switch bytes.byte(at: start) {
        case UInt8(ascii: "{"):
            return JSONToken(kind: .object, start: start, end: try nested(bytes, from: start))
        case UInt8(ascii: "["):
            return JSONToken(kind: .array, start: start, end: try nested(bytes, from: start))
        default:
            return try Self.scalar(bytes, at: start)
        }
    }

    /// The string whose opening quote should stand here.
    static func string(_ bytes: Span<UInt8>, at start: Int) throws(JSONFlaw) -> JSONToken {
        guard start < bytes.count, bytes[start] == UInt8(ascii: "\"") else {
            throw .malformed("a key is missing", at: start)
        }
        var kind = JSONToken.Kind.plainString
        var index = start + 1
        while true {
            index = firstSpecial(bytes, from: index)
            guard index < bytes.count else {
                throw .malformed("a string is not closed", at: start)
            }
            switch bytes[index] {
            case UInt8(ascii: "\""): return JSONToken(kind: kind, start: start, end: index + 1)
            case Byte.backslash:
                kind = .escapedString
                index = try afterEscape(bytes, at: index)
            default: throw .malformed("a control character stands in a string", at: index)
            }
        }
    }

    /// Passes over a colon and the blanks around it.
    static func afterColon(_ bytes: Span<UInt8>, from start: Int) throws(JSONFlaw) -> Int {
        let index = afterBlanks(bytes, from: start)
        guard index < bytes.count, bytes[index] == UInt8(ascii: ":") else {
            throw .malformed("a colon is missing", at: index)
        }
        return afterBlanks(bytes, from: index + 1)
    }
}

// MARK: Containers

extension JSONScanner {
    /// Where the container that begins here ends.
    private mutating func nested(_ bytes: Span<UInt8>, from start: Int) throws(JSONFlaw) -> Int {
        open.removeAll(keepingCapacity: true)
        var next: Int? = start
        var end = start
        while let index = next {
            switch bytes.byte(at: index) {
            case UInt8(ascii: "{"):
                try enter(UInt8(ascii: "}"), at: index)
                let inner = Self.afterBlanks(bytes, from: index + 1)
                if bytes.byte(at: inner) != UInt8(ascii: "}") {
                    next = try Self.afterKey(bytes, at: inner)
                    continue
                }
                end = inner
            case UInt8(ascii: "["):
                try enter(UInt8(ascii: "]"), at: index)
                let inner = Self.afterBlanks(bytes, from: index + 1)
                if bytes.byte(at: inner) != UInt8(ascii: "]") {
                    next = inner
                    continue
                }
                end = inner
            default:
                end = try Self.scalar(bytes, at: index).end
            }
            next = try leave(bytes, &end)
        }
        return end
    }

    private mutating func enter(_ closing: UInt8, at index: Int) throws(JSONFlaw) {
        guard open.count < Self.mostLevels else {
            throw JSONFlaw(reason: .tooDeep(limit: Self.mostLevels), offset: index)
        }
        open.append(closing)
    }

    /// Goes on behind a value: to where the next one begins, or, with nil, to the end of the outermost.
    private mutating func leave(_ bytes: Span<UInt8>, _ end: inout Int) throws(JSONFlaw) -> Int? {
        while let closing = open.last {
            let index = Self.afterBlanks(bytes, from: end)
            switch bytes.byte(at: index) {
            case closing:
                open.removeLast()
                end = index + 1
            case UInt8(ascii: ","):
                let next = Self.afterBlanks(bytes, from: index + 1)
                return closing == UInt8(ascii: "}") ? try Self.afterKey(bytes, at: next) : next
            case nil:
                let sort = closing == UInt8(ascii: "}") ? "an object" : "an array"
                throw .malformed("\(sort) is not closed", at: index)
            default:
                throw .malformed("a comma is missing", at: index)
            }
        }
        return nil
    }

    /// Passes over a key and its colon.
    private static func afterKey(_ bytes: Span<UInt8>, at start: Int) throws(JSONFlaw) -> Int {
        try afterColon(bytes, from: try string(bytes, at: start).end)
    }
}

// MARK: Scalars

extension JSONScanner {
    private static func scalar(_ bytes: Span<UInt8>, at start: Int) throws(JSONFlaw) -> JSONToken {
        guard let first = bytes.byte(at: start) else {
            throw .malformed("a value is missing", at: start)
        }
        switch first {
        case UInt8(ascii: "\""): return try string(bytes, at: start)
        case UInt8(ascii: "t"): return try word("true", .boolean, bytes, at: start)
        case UInt8(ascii: "f"): return try word("false", .boolean, bytes, at: start)
        case UInt8(ascii: "n"): return try word("null", .null, bytes, at: start)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return JSONToken(kind: .number, start: start, end: try number(bytes, from: start))
        case UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"):
            throw .malformed("a value is missing", at: start)
        default: throw .malformed("this is no JSON value", at: start)
        }
    }

    private static func word(
        _ word: StaticString,
        _ kind: JSONToken.Kind,
        _ bytes: Span<UInt8>,
        at start: Int
    ) throws(JSONFlaw) -> JSONToken {
        let end = start + word.utf8CodeUnitCount
        let isThere = word.withUTF8Buffer { letters in
            letters.indices.allSatisfy { bytes.byte(at: start + $0) == letters[$0] }
        }
        guard isThere else { throw .malformed("this is no JSON value", at: start) }
        return JSONToken(kind: kind, start: start, end: end)
    }

    private static func number(_ bytes: Span<UInt8>, from start: Int) throws(JSONFlaw) -> Int {
        var index = bytes.byte(at: start) == UInt8(ascii: "-") ? start + 1 : start
        if bytes.byte(at: index) == UInt8(ascii: "0") {
            index += 1
            if let next = bytes.byte(at: index), isDigit(next) {
                throw .malformed("a number begins with a zero", at: start)
            }
        } else {
            index = try afterDigits(bytes, from: index)
        }
        if bytes.byte(at: index) == UInt8(ascii: ".") {
            index = try afterDigits(bytes, from: index + 1)
        }
        if let letter = bytes.byte(at: index), letter | 0x20 == UInt8(ascii: "e") {
            let sign = bytes.byte(at: index + 1)
            let isSigned = sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-")
            index = try afterDigits(bytes, from: index + (isSigned ? 2 : 1))
        }
        return index
    }

    private static func afterDigits(_ bytes: Span<UInt8>, from start: Int) throws(JSONFlaw) -> Int {
        var index = start
        while index < bytes.count, isDigit(bytes[index]) {
            index += 1
        }
        guard index > start else { throw .malformed("a number lacks a digit", at: start) }
        return index
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte &- UInt8(ascii: "0") < 10
    }
}

// MARK: Strings

extension JSONScanner {
    private static let ones: UInt64 = 0x0101_0101_0101_0101

    /// The first quote, backslash or control character, found eight bytes at a time.
    private static func firstSpecial(_ bytes: Span<UInt8>, from start: Int) -> Int {
        let raw = bytes.bytes
        var index = start
        while index + 8 <= raw.byteCount {
            let word = raw.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self).littleEndian
            let special =
                zero(word ^ (ones &* 0x22)) | zero(word ^ (ones &* 0x5C))
                | ((word &- ones &* 0x20) & ~word)
            // Of the marks only the lowest is sure: a borrow may set one above it.
            let marks = special & (ones &* 0x80)
            if marks != 0 {
                return index + marks.trailingZeroBitCount / 8
            }
            index += 8
        }
        while index < bytes.count, !isSpecial(bytes[index]) {
            index += 1
        }
        return index
    }

    private static func zero(_ word: UInt64) -> UInt64 {
        (word &- ones) & ~word
    }

    private static func isSpecial(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\"") || byte == Byte.backslash || byte < 0x20
    }

    /// Passes over an escape and what it escapes.
    private static func afterEscape(_ bytes: Span<UInt8>, at start: Int) throws(JSONFlaw) -> Int {
        guard let letter = bytes.byte(at: start + 1), "\"\\/bfnrtu".utf8.contains(letter) else {
            throw .malformed("a backslash escapes nothing that can be escaped", at: start)
        }
        guard letter == UInt8(ascii: "u") else { return start + 2 }
        guard let unit = bytes.hexadecimal(at: start + 2) else {
            throw .malformed("\\u lacks its four digits", at: start)
        }
        switch unit {
        case 0: throw JSONFlaw(reason: .nulEscape, offset: start)
        case 0xD800...0xDBFF:
            guard bytes.byte(at: start + 6) == Byte.backslash,
                bytes.byte(at: start + 7) == UInt8(ascii: "u"),
                let low = bytes.hexadecimal(at: start + 8), 0xDC00...0xDFFF ~= low
            else { throw JSONFlaw(reason: .loneSurrogate, offset: start) }
            return start + 12
        case 0xDC00...0xDFFF: throw JSONFlaw(reason: .loneSurrogate, offset: start)
        default: return start + 6
        }
    }
}
