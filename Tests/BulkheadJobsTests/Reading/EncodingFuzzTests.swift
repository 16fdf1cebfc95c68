import Testing

@testable import BulkheadJobs

@Suite struct EncodingFuzzTests {
    private static let names = [
        "LATIN1", "WIN1252", "SJIS", "EUC_JP", "EUC_KR", "UHC", "GBK", "GB18030", "BIG5", "KOI8R",
        "UTF-16", "UTF-16BE", "UTF-32LE", "EUC_TW", "JOHAB", "WIN1258", "ISO-2022-JP",
    ]

    @Test func randomBytesAreConvertedAlikeInAnyPieces() throws {
        try FuzzLoop.run("files in other encodings", Self.check)
    }

    /// Files that were once converted in two ways.
    @Test(arguments: [2_337_100_238_109_695_507] as [UInt64])
    func filesThatFailedOnceAreConvertedAlike(seed: UInt64) throws {
        try Self.check(seed)
    }

    /// However the bytes of a file come in, the same text comes out; and it can be read from any place on.
    private static func check(_ seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let name = names.randomElement(using: &random) ?? "LATIN1"
        let encoding = try #require(TextEncoding(name))
        let bytes = Self.bytes(&random)
        let whole = try Self.read(bytes, encoding, pieces: [Int.max], from: 0)
        if name == "LATIN1" {
            let text = String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
            try #require(whole == Array(text.utf8), "seed \(seed)")
        }
        let pieces = (0..<3).map { _ in Int.random(in: 1...9, using: &random) }
        let inPieces = try Self.read(bytes, encoding, pieces: pieces, from: 0)
        try #require(inPieces == whole, "\(name), seed \(seed)")
        let place = Int.random(in: 0...whole.count, using: &random)
        let rest = try Self.read(bytes, encoding, pieces: pieces, from: Int64(place))
        try #require(rest == Array(whole[place...]), "\(name), seed \(seed)")
        // A line end is never swallowed, whatever stands before it.
        if !name.hasPrefix("UTF"), name != "ISO-2022-JP", name != "GB18030" {
            let feeds = bytes.count { $0 == 0x0A }
            try #require(whole.count { $0 == 0x0A } == feeds, "\(name), seed \(seed)")
        }
    }

    private static func bytes(_ random: inout SplitMix64) -> [UInt8] {
        (0..<Int.random(in: 0...60, using: &random)).map { _ in
            switch Int.random(in: 0..<4, using: &random) {
            case 0: [0x0A, 0x2C, 0x22, 0x00, 0x1B, 0xD8].randomElement(using: &random) ?? 0
            case 1: UInt8.random(in: 0x20...0x7E, using: &random)
            default: UInt8.random(in: 0x80...0xFF, using: &random)
            }
        }
    }

    private static func read(
        _ bytes: [UInt8],
        _ encoding: TextEncoding,
        pieces: [Int],
        from offset: Int64
    ) throws -> [UInt8] {
        let source = try TranscodedSource(MemorySource(bytes, pieces: pieces), from: encoding)
        if offset > 0 { try source.skip(to: offset) }
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 7)
        while true {
            let count = try buffer.withUnsafeMutableBytes { try source.read(into: $0) }
            if count == 0 { return text }
            text += buffer[..<count]
        }
    }
}
