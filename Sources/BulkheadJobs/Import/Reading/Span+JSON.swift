extension Span<UInt8> {
    /// The byte at an index; nil beyond the end.
    func byte(at index: Int) -> UInt8? {
        index < count ? self[index] : nil
    }

    /// The number that four hexadecimal digits make; nil where there are no such.
    func hexadecimal(at start: Int) -> UInt32? {
        guard start + 4 <= count else { return nil }
        var value: UInt32 = 0
        for index in start..<start + 4 {
            let digit: UInt8
            switch self[index] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = self[index] - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = self[index] - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = self[index] - UInt8(ascii: "A") + 10
            default: return nil
            }
            value = value << 4 | UInt32(digit)
        }
        return value
    }
}
