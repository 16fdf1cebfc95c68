@testable import BulkheadJobs

/// A small file of lines that are JSON, or nearly so, made from a seed.
struct RandomJSONFile: CustomStringConvertible {
    let seed: UInt64
    let bytes: [UInt8]
    let pieces: [Int]
    let limits: ReadLimits
    let resumeAfter: Int

    init(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        self.seed = seed
        let end: [[UInt8]] = [[0x0A], [0x0A], [0x0D, 0x0A], [0x0D]]
        let usual = end.randomElement(using: &random) ?? [0x0A]
        var bytes: [UInt8] = Int.random(in: 0..<8, using: &random) == 0 ? [0xEF, 0xBB, 0xBF] : []
        for _ in 0..<Int.random(in: 0...8, using: &random) {
            bytes += Self.line(&random)
            bytes +=
                Int.random(in: 0..<9, using: &random) == 0
                ? end.randomElement(using: &random) ?? usual : usual
        }
        if Bool.random(using: &random), !bytes.isEmpty { bytes.removeLast() }
        self.bytes = bytes
        pieces = (0..<Int.random(in: 1...4, using: &random)).map { _ in
            Int.random(in: 1...40, using: &random)
        }
        let isShort = Int.random(in: 0..<4, using: &random) == 0
        limits = ReadLimits(
            record: isShort ? Int.random(in: 1...60, using: &random) : 64 << 20,
            kept: Int.random(in: 0...9, using: &random),
            chunk: Int.random(in: 4...64, using: &random)
        )
        resumeAfter = Int.random(in: 0...6, using: &random)
    }

    func reader(from position: ReadPosition = .start) -> RecordReader {
        RecordReader(
            MemorySource(bytes, pieces: pieces),
            layout: .lines,
            from: position,
            limits: limits
        )
    }

    var description: String {
        "seed \(seed): \(String(decoding: bytes, as: UTF8.self).debugDescription), pieces \(pieces), "
            + "\(limits), resume \(resumeAfter)"
    }

    /// The lines as they must be found: where they start, their number, and their bytes.
    var lines: [(offset: Int, line: Int64, bytes: [UInt8])] {
        var index = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        let first = bytes[index...].firstIndex { $0 == 0x0A || $0 == 0x0D }
        let returnEnds =
            first.map { bytes[$0] == 0x0D && bytes[($0 + 1)...].first != 0x0A } ?? false
        var lines: [(Int, Int64, [UInt8])] = []
        var number: Int64 = 1
        while index < bytes.count {
            let start = index
            while index < bytes.count, lineEnd(at: index, returnEnds) == 0 { index += 1 }
            if index > start { lines.append((start, number, Array(bytes[start..<index]))) }
            if index < bytes.count { index += lineEnd(at: index, returnEnds) }
            number += 1
        }
        return lines
    }

    private func lineEnd(at index: Int, _ returnEnds: Bool) -> Int {
        if bytes[index] == 0x0A { return 1 }
        guard bytes[index] == 0x0D else { return 0 }
        return bytes[(index + 1)...].first == 0x0A ? 2 : returnEnds ? 1 : 0
    }
}

// MARK: Lines

extension RandomJSONFile {
    private static func line(_ random: inout SplitMix64) -> [UInt8] {
        let usual = ["a", "b", "j", "t", "d", "y"].shuffled(using: &random)
        let odd = ["x", "A", "\\u0061", "J", "Y", "zz", "é", "", "a", "t"]
        var members: [[UInt8]] = []
        for place in 0..<Int.random(in: 0...4, using: &random) {
            let isOdd = Int.random(in: 0..<12, using: &random) == 0
            let name = (isOdd ? odd.randomElement(using: &random) : nil) ?? usual[place]
            // A column of no nested type takes a nested value only by mistake.
            let isPlain = name == "a" || name == "b"
            let mayNest = !isPlain || Int.random(in: 0..<12, using: &random) == 0
            let blank = blank(&random)
            members.append(
                blank + Array("\"\(name)\"".utf8) + blank + [0x3A]
                    + value(&random, depth: mayNest ? 0 : 4)
            )
        }
        var line = blank(&random) + [0x7B] + Array(members.joined(separator: [0x2C]))
        line += blank(&random) + [0x7D] + blank(&random)
        for _ in 0..<([0, 0, 0, 1, 1, 3].randomElement(using: &random) ?? 0) where !line.isEmpty {
            spoil(&line, &random)
        }
        return line
    }

    private static func spoil(_ line: inout [UInt8], _ random: inout SplitMix64) {
        let place = Int.random(in: 0..<line.count, using: &random)
        let bytes: [UInt8] = [
            0x22, 0x5C, 0x2C, 0x3A, 0x5B, 0x5D, 0x7B, 0x7D, 0x00, 0x1F, 0x20, 0x30, 0x2D, 0x2E,
            0x65,
            0x75, 0xC3, 0xFF, 0x09, 0x6E,
        ]
        switch Int.random(in: 0..<3, using: &random) {
        case 0: line.remove(at: place)
        case 1: line.insert(bytes.randomElement(using: &random) ?? 0, at: place)
        default: line[place] = bytes.randomElement(using: &random) ?? 0
        }
    }

    private static func blank(_ random: inout SplitMix64) -> [UInt8] {
        if Int.random(in: 0..<60, using: &random) == 0 { return [0x0D] }
        return [[], [], [], [0x20], [0x09, 0x20]].randomElement(using: &random) ?? []
    }

    private static func value(_ random: inout SplitMix64, depth: Int) -> [UInt8] {
        let blank = blank(&random)
        let kind = Int.random(in: 0..<(depth < 4 ? 8 : 5), using: &random)
        let inner: [UInt8]
        switch kind {
        case 0...1:
            let words = [
                "null", "true", "false", "0", "-0", "1.50", "-12e3", "1E+5",
                "12345678901234567890", "01", "1.", "NaN", "-",
            ]
            let most = Int.random(in: 0..<8, using: &random) == 0 ? words.count : words.count - 4
            inner = Array(words[Int.random(in: 0..<most, using: &random)].utf8)
        case 2...4: inner = string(&random)
        case 5...6:
            let count = Int.random(in: 0...3, using: &random)
            let values = (0..<count).map { _ in value(&random, depth: depth + 1) }
            inner = [0x5B] + blank + Array(values.joined(separator: [0x2C])) + [0x5D]
        default:
            let count = Int.random(in: 0...2, using: &random)
            let pairs = (0..<count).map { _ in
                string(&random) + blank + [0x3A] + value(&random, depth: depth + 1)
            }
            inner = [0x7B] + blank + Array(pairs.joined(separator: [0x2C])) + [0x7D]
        }
        return blank + inner + blank
    }

    private static func string(_ random: inout SplitMix64) -> [UInt8] {
        let tokens = [
            "a", "bcdefghijk", "é", "漢", "🙂", "\\n", "\\\"", "\\\\", "\\/", "\\t", "\\u0041",
            "\\u00e9", "\\ud83d\\ude00", "\\u001f", "\\u0008", "{", "}", "[", "]", ",", ":", "\\u",
            "\\ud800", "\\ude00", "\\u0000", "\\x", "NULL", "'", " ",
        ]
        let most = Int.random(in: 0..<12, using: &random) == 0 ? tokens.count : 21
        var text = ""
        for _ in 0..<Int.random(in: 0...6, using: &random) {
            text += tokens[Int.random(in: 0..<most, using: &random)]
        }
        return Array("\"\(text)\"".utf8)
    }
}
