/// Reads a line of JSON the slow and obvious way, to check the fast scanner against.
struct ReferenceJSON {
    indirect enum Value {
        case null, boolean(Bool), number, string([UInt8]), array([Member]), object([Member])
    }

    struct Member {
        var key: [UInt8] = []
        var value: Value
        var raw: [UInt8]
    }

    private let bytes: [UInt8]
    private var index = 0

    /// What the line says; nil when it is anything but one object.
    static func object(_ bytes: [UInt8]) -> [Member]? {
        guard String(validating: bytes, as: UTF8.self) != nil else { return nil }
        var reader = ReferenceJSON(bytes: bytes)
        guard let member = reader.member(), reader.index == bytes.count,
            case .object(let members) = member.value
        else { return nil }
        return members
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    private var here: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard here == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    private mutating func skipBlanks() {
        while let byte = here, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { index += 1 }
    }

    /// A value with the blanks around it.
    private mutating func member() -> Member? {
        skipBlanks()
        let start = index
        guard let value = value() else { return nil }
        let raw = Array(bytes[start..<index])
        skipBlanks()
        return Member(value: value, raw: raw)
    }

    private mutating func value() -> Value? {
        for (word, value) in [
            ("null", Value.null), ("true", .boolean(true)), ("false", .boolean(false)),
        ] where bytes[index...].starts(with: word.utf8) {
            index += word.utf8.count
            return value
        }
        if here == UInt8(ascii: "\"") { return string().map { .string($0) } }
        if take("[") { return members(until: "]") { $0.member() }.map { .array($0) } }
        if take("{") { return members(until: "}") { $0.pair() }.map { .object($0) } }
        return number() ? .number : nil
    }

    private mutating func members(
        until closing: Unicode.Scalar,
        _ next: (inout ReferenceJSON) -> Member?
    ) -> [Member]? {
        skipBlanks()
        if take(closing) { return [] }
        var members: [Member] = []
        repeat {
            guard let member = next(&self) else { return nil }
            members.append(member)
        } while take(",")
        return take(closing) ? members : nil
    }

    private mutating func pair() -> Member? {
        skipBlanks()
        guard let key = string() else { return nil }
        skipBlanks()
        guard take(":"), var member = member() else { return nil }
        member.key = key
        return member
    }

    private mutating func number() -> Bool {
        let rest = String(decoding: bytes[index...], as: UTF8.self)
        guard let match = rest.prefixMatch(of: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/)
        else { return false }
        index += match.output.0.utf8.count
        // A digit behind a leading zero, or a point or exponent without digits.
        return !(here.map { "0123456789.eE".utf8.contains($0) } ?? false)
    }

    private mutating func string() -> [UInt8]? {
        guard take("\"") else { return nil }
        var units: [UInt8] = []
        while let byte = here {
            index += 1
            switch byte {
            case UInt8(ascii: "\""): return units
            case 0..<0x20: return nil
            case UInt8(ascii: "\\"):
                guard let escaped = escaped() else { return nil }
                units += escaped
            default: units.append(byte)
            }
        }
        return nil
    }

    private mutating func escaped() -> [UInt8]? {
        guard let letter = here else { return nil }
        index += 1
        let plain: [UInt8: UInt8] = [
            0x22: 0x22, 0x5C: 0x5C, 0x2F: 0x2F, 0x62: 0x08, 0x66: 0x0C, 0x6E: 0x0A, 0x72: 0x0D,
            0x74: 0x09,
        ]
        if let byte = plain[letter] { return [byte] }
        guard letter == UInt8(ascii: "u"), let unit = codeUnit() else { return nil }
        if let scalar = Unicode.Scalar(UInt32(unit)) {
            return unit == 0 ? nil : Array(String(scalar).utf8)
        }
        guard take("\\"), take("u"), let low = codeUnit() else { return nil }
        var decoder = UTF16()
        var units = [unit, low].makeIterator()
        guard case .scalarValue(let scalar) = decoder.decode(&units), scalar.value > 0xFFFF else {
            return nil
        }
        return Array(String(scalar).utf8)
    }

    private mutating func codeUnit() -> UInt16? {
        let digits = bytes[index...].prefix(4)
        guard digits.count == 4,
            digits.allSatisfy({ "0123456789abcdefABCDEF".utf8.contains($0) })
        else { return nil }
        index += 4
        return UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
    }
}
