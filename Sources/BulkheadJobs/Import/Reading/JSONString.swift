/// What a JSON string says, piece by piece; it must have been found well-formed.
struct JSONString {
    enum Piece {
        /// Bytes that stand in the line as they are meant.
        case run(Range<Int>)
        /// What an escape stands for, in UTF-8.
        case character(Unicode.UTF8.EncodedScalar)
    }

    private var index: Int
    private let end: Int

    /// Takes where the text lies, between its quotes.
    init(_ content: Range<Int>) {
        index = content.lowerBound
        end = content.upperBound
    }

    mutating func next(of bytes: Span<UInt8>) -> Piece? {
        guard index < end else { return nil }
        let start = index
        while index < end, bytes[index] != Byte.backslash {
            index += 1
        }
        if index > start {
            return .run(start..<index)
        }
        let (scalar, size) = Self.escaped(at: index, in: bytes)
        index += size
        return .character(UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    }

    /// The whole text as an array of its own.
    static func text(_ token: JSONToken, of bytes: Span<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(token.content.count)
        var string = JSONString(token.content)
        while let piece = string.next(of: bytes) {
            switch piece {
            case .run(let range): for index in range { text.append(bytes[index]) }
            case .character(let character): text += character
            }
        }
        return text
    }

    /// The character that an escape stands for, and the bytes that the escape takes.
    private static func escaped(at index: Int, in bytes: Span<UInt8>) -> (Unicode.Scalar, Int) {
        let letter = bytes.byte(at: index + 1) ?? Byte.backslash
        return letter == UInt8(ascii: "u")
            ? scalar(at: index, in: bytes) : (Unicode.Scalar(meaning(of: letter)), 2)
    }

    private static func meaning(of letter: UInt8) -> UInt8 {
        switch letter {
        case UInt8(ascii: "b"): Byte.backspace
        case UInt8(ascii: "f"): Byte.formFeed
        case UInt8(ascii: "n"): Byte.lineFeed
        case UInt8(ascii: "r"): Byte.carriageReturn
        case UInt8(ascii: "t"): Byte.tab
        default: letter
        }
    }

    /// The character that an escape stands for, and the bytes that the escape takes.
    private static func scalar(at index: Int, in bytes: Span<UInt8>) -> (Unicode.Scalar, Int) {
        let replacement: Unicode.Scalar = "\u{FFFD}"
        guard let unit = bytes.hexadecimal(at: index + 2) else { return (replacement, 2) }
        guard 0xD800...0xDBFF ~= unit, let low = bytes.hexadecimal(at: index + 8) else {
            return (Unicode.Scalar(unit) ?? replacement, 6)
        }
        let value = 0x10000 + (unit & 0x3FF) << 10 + (low & 0x3FF)
        return (Unicode.Scalar(value) ?? replacement, 12)
    }
}
