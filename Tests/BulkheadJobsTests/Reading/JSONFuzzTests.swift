import Foundation
import Testing

@testable import BulkheadJobs

@Suite struct JSONFuzzTests {
    @Test func randomLinesAreReadAsTheSlowReaderReadsThem() throws {
        try FuzzLoop.run("files of JSON lines") { seed in
            let file = RandomJSONFile(seed: seed)
            try check(file, file.lines, file.reader())
            let first = file.reader()
            for _ in 0..<min(file.resumeAfter, file.lines.count) {
                _ = try first.next()
            }
            let stored = try JSONEncoder().encode(first.position)
            let position = try JSONDecoder().decode(ReadPosition.self, from: stored)
            let rest = Array(file.lines.dropFirst(file.resumeAfter))
            try check(file, rest, file.reader(from: position))
        }
    }

    /// Else the slow reader would be asked about flaws only.
    @Test func aFairShareOfTheRandomLinesIsGood() {
        let lines = (0..<500).flatMap { RandomJSONFile(seed: $0).lines }
        let good = lines.count { ReferenceJSONRow($0.bytes) != nil }
        #expect(
            (lines.count / 10...lines.count * 9 / 10).contains(good),
            "\(good) of \(lines.count)"
        )
    }

    private func check(
        _ file: RandomJSONFile,
        _ lines: [(offset: Int, line: Int64, bytes: [UInt8])],
        _ reader: RecordReader
    ) throws {
        var encoder = try JSONRowEncoderTests.encoder(ReferenceJSONRow.renames)
        let prefix = Array("7\t".utf8)
        for expected in lines {
            guard let record = try reader.next() else {
                Issue.record("a line is missing: \(file)")
                return
            }
            let isTooLong = expected.bytes.count > file.limits.record
            let kept = isTooLong ? file.limits.kept : Int.max
            let found = (record.offset, record.line, record.length, Array(record.bytes))
            try #require(found.0 == Int64(expected.offset), "\(file)")
            try #require(found.1 == expected.line, "\(file)")
            try #require(found.2 == Int64(expected.bytes.count), "\(file)")
            try #require(found.3 == Array(expected.bytes.prefix(kept)), "\(file)")
            var output = prefix
            let problem = encoder.encode(record, into: &output)
            let row = isTooLong ? nil : ReferenceJSONRow(expected.bytes)
            try #require((problem == nil) == (row != nil), "\(problem as Any) \(file)")
            try #require(output == prefix + (row?.line ?? []), "\(file)")
            if let row {
                try #require(encoder.missing == row.missing.sorted(), "\(file)")
                for column in 0..<5 {
                    let value = encoder.value(at: column, of: record)
                    if column != 2, !Self.isNested(row.values[column]) {
                        try #require(value == row.values[column], "\(file)")
                    }
                }
            }
        }
        let isOver = try reader.next() == nil
        try #require(isOver, "\(file)")
    }

    /// Arrays are asked for by nobody, so the encoder gives them as they are written.
    private static func isNested(_ value: [UInt8]?) -> Bool {
        value?.first == UInt8(ascii: "{")
    }
}
