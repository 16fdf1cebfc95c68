/// What kinds of bytes a record holds, found eight bytes at a time.
struct ByteSurvey {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    private(set) var holdsNUL = false
    private(set) var holdsNonASCII = false
    /// Control characters and backslashes: whatever COPY may want escaped.
    private(set) var holdsSpecial = false

    var isSuspect: Bool { holdsNUL || holdsNonASCII }

    init(_ bytes: Span<UInt8>) {
        let raw = bytes.bytes
        var high: UInt64 = 0
        var special: UInt64 = 0
        var nul: UInt64 = 0
        var index = 0
        while index + 8 <= raw.byteCount {
            let word = raw.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
            high |= word
            special |= Self.below32(word) | Self.zero(word ^ (Self.ones &* 0x5C))
            nul |= Self.zero(word)
            index += 8
        }
        while index < bytes.count {
            let word = Self.ones &* UInt64(bytes[index])
            high |= word
            special |= Self.below32(word) | Self.zero(word ^ (Self.ones &* 0x5C))
            nul |= Self.zero(word)
            index += 1
        }
        holdsNonASCII = high & Self.highBits != 0
        holdsSpecial = special & Self.highBits != 0
        holdsNUL = nul & Self.highBits != 0
    }

    private static func zero(_ word: UInt64) -> UInt64 {
        (word &- ones) & ~word
    }

    private static func below32(_ word: UInt64) -> UInt64 {
        (word &- ones &* 0x20) & ~word
    }
}
