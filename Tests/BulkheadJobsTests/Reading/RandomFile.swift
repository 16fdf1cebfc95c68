@testable import BulkheadJobs

/// A small file full of special bytes, and a way to read it, made from a seed.
struct RandomFile: CustomStringConvertible {
    let seed: UInt64
    let bytes: [UInt8]
    let dialect: TextDialect
    let pieces: [Int]
    let limits: ReadLimits
    let skippedLines: Int
    let resumeAfter: Int

    init(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        self.seed = seed
        dialect = try Self.dialect(&random)
        let tokens = Self.tokens(for: dialect, &random)
        var bytes: [UInt8] = Int.random(in: 0..<8, using: &random) == 0 ? [0xEF, 0xBB, 0xBF] : []
        for _ in 0..<Int.random(in: 0...60, using: &random) {
            bytes += tokens.randomElement(using: &random) ?? []
        }
        self.bytes = bytes
        pieces = (0..<Int.random(in: 1...4, using: &random)).map { _ in
            Int.random(in: 1...9, using: &random)
        }
        let isShort = Int.random(in: 0..<3, using: &random) == 0
        limits = ReadLimits(
            record: isShort ? Int.random(in: 1...30, using: &random) : 64 << 20,
            kept: Int.random(in: 0...9, using: &random),
            chunk: Int.random(in: 4...32, using: &random)
        )
        skippedLines =
            Int.random(in: 0..<4, using: &random) == 0
            ? Int.random(in: 1...3, using: &random) : 0
        resumeAfter = Int.random(in: 0...6, using: &random)
    }

    func reader(from position: ReadPosition = .start) -> RecordReader {
        RecordReader(
            MemorySource(bytes, pieces: pieces),
            dialect: dialect,
            from: position,
            limits: limits
        )
    }

    var reference: ReferenceReader {
        ReferenceReader(bytes, dialect, limits: limits, skippedLines: skippedLines)
    }

    var description: String {
        "seed \(seed): \(String(decoding: bytes, as: UTF8.self).debugDescription), \(dialect), "
            + "pieces \(pieces), \(limits), skip \(skippedLines), resume \(resumeAfter)"
    }

    private static func dialect(_ random: inout SplitMix64) throws -> TextDialect {
        try TextDialect(
            delimiter: Array(",,\t;".utf8).randomElement(using: &random) ?? 0x2C,
            quote: Array("\"\"'".utf8).randomElement(using: &random) ?? 0x22,
            escape: [nil, nil, 0x5C, 0x22].randomElement(using: &random) ?? nil,
            nullMarkers: [[[]], [[]], [Array("a".utf8)], [[], Array("\\N".utf8)], []]
                .randomElement(using: &random) ?? [[]]
        )
    }

    /// Some of the tokens are left out of some files, so that records get long enough to matter.
    private static func tokens(
        for dialect: TextDialect,
        _ random: inout SplitMix64
    ) -> [[UInt8]] {
        let quote = dialect.quote
        let delimiter = dialect.delimiter
        let special: [[UInt8]] = [
            [quote], [quote, quote], [delimiter], [quote, delimiter, quote], [delimiter, quote],
            [0x0A], [0x0D], [0x0D, 0x0A], [quote, 0x0A], [quote, 0x0D], [quote, 0x0D, 0x0A],
            [0x5C], [0x5C, quote], [0x5C, 0x5C], [0x00], [0xC3], [0xFF], [0xED, 0xA0, 0x80],
            Array("é".utf8), Array("漢".utf8), [0xEF, 0xBB, 0xBF], [0x08], [0x0B], [0x0C], [0x09],
            Array("\\N".utf8), Array("\\.".utf8), Array("'".utf8), [0x20], [0x1A],
        ]
        var tokens = special.filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
        tokens += [[delimiter], Array("a".utf8), Array("bcdefghi".utf8)]
        tokens += [[[0x0A]], [[0x0D]], [[0x0D, 0x0A]]].randomElement(using: &random) ?? []
        return tokens
    }
}
