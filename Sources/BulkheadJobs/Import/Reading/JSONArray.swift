/// Writes a JSON array as PostgreSQL writes an array, inside a line for COPY.
///
/// The array must have been found well-formed.
struct JSONArray {
    private var index: Int
    private let end: Int

    init(_ token: JSONToken, of bytes: Span<UInt8>) {
        index = token.start
        end = token.end
    }

    /// Whether an object stands in it, at any depth.
    static func holdsObject(_ token: JSONToken, of bytes: Span<UInt8>) -> Bool {
        var array = JSONArray(token, of: bytes)
        while array.index < array.end {
            switch bytes[array.index] {
            case UInt8(ascii: "{"): return true
            case UInt8(ascii: "\""): array.skipString(bytes)
            default: array.index += 1
            }
        }
        return false
    }

    /// The bytes that it takes at most.
    static func room(_ token: JSONToken, of bytes: Span<UInt8>) -> Int {
        var room = token.end - token.start + 2
        for index in token.start..<token.end {
            switch bytes[index] {
            // Escaped once for the array and once more for COPY.
            case Byte.backslash, UInt8(ascii: "\""): room += 3
            case ..<0x20: room += 1
            // Quotes around an element that had none.
            case UInt8(ascii: ","): room += 2
            default: continue
            }
        }
        return room
    }

    mutating func write(
        delimiter: UInt8,
        isOfJSON: Bool,
        _ bytes: Span<UInt8>,
        to output: inout OutputSpan<UInt8>
    ) {
        var depth = 0
        while index < end {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "[") where depth == 0 || !isOfJSON:
                output.append(UInt8(ascii: "{"))
                depth += 1
                index += 1
            case UInt8(ascii: "]"):
                output.append(UInt8(ascii: "}"))
                depth -= 1
                index += 1
            case UInt8(ascii: ","):
                output.append(delimiter)
                index += 1
            case _ where JSONScanner.isBlank(byte): index += 1
            case UInt8(ascii: "n"):
                for letter in "NULL".utf8 {
                    output.append(letter)
                }
                index += 4
            case _ where isOfJSON: writeRaw(bytes, to: &output)
            case UInt8(ascii: "\""): writeString(bytes, to: &output)
            default: writeWord(bytes, to: &output)
            }
        }
    }

    /// An element as it is written, between quotes.
    private mutating func writeRaw(_ bytes: Span<UInt8>, to output: inout OutputSpan<UInt8>) {
        let start = index
        skipElement(bytes)
        output.append(UInt8(ascii: "\""))
        for index in start..<index {
            Self.append(bytes[index], to: &output)
        }
        output.append(UInt8(ascii: "\""))
    }

    private mutating func writeString(_ bytes: Span<UInt8>, to output: inout OutputSpan<UInt8>) {
        let start = index
        skipString(bytes)
        output.append(UInt8(ascii: "\""))
        var string = JSONString(start + 1..<index - 1)
        while let piece = string.next(of: bytes) {
            switch piece {
            case .run(let range): output.append(bytes, range)
            case .character(let character):
                for byte in character {
                    Self.append(byte, to: &output)
                }
            }
        }
        output.append(UInt8(ascii: "\""))
    }

    /// A number, or true or false.
    private mutating func writeWord(_ bytes: Span<UInt8>, to output: inout OutputSpan<UInt8>) {
        while index < end, bytes[index] != UInt8(ascii: ","), bytes[index] != UInt8(ascii: "]"),
            !JSONScanner.isBlank(bytes[index])
        {
            output.append(bytes[index])
            index += 1
        }
    }

    /// Goes behind the element that begins here.
    private mutating func skipElement(_ bytes: Span<UInt8>) {
        var depth = 0
        while index < end {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                skipString(bytes)
                continue
            case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "]") where depth == 0, UInt8(ascii: ",") where depth == 0: return
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            case let byte where depth == 0 && JSONScanner.isBlank(byte): return
            default: break
            }
            index += 1
        }
    }

    private mutating func skipString(_ bytes: Span<UInt8>) {
        index += 1
        while index < end, bytes[index] != UInt8(ascii: "\"") {
            index += bytes[index] == Byte.backslash ? 2 : 1
        }
        index += 1
    }

    private static func append(_ byte: UInt8, to output: inout OutputSpan<UInt8>) {
        // The array's own backslash, as COPY wants it.
        if byte == Byte.backslash || byte == UInt8(ascii: "\"") {
            output.append(Byte.backslash)
            output.append(Byte.backslash)
        }
        CopyTextEncoder.append(byte, to: &output)
    }
}
