import Foundation
import Testing

@testable import BulkheadJobs

@Suite struct FuzzTests {
    @Test func randomFilesAreReadAsTheSlowReaderReadsThem() throws {
        try FuzzLoop.run("delimited files") { try check(RandomFile(seed: $0)) }
    }

    private func check(_ file: RandomFile) throws {
        var expected = file.reference.read()
        let reader = file.reader()
        try reader.skipLines(file.skippedLines)
        let seen = SeenFile(reading: reader)
        expected.position = seen.position
        try #require(seen == expected, "\(file)")
        try checkEncoding(file, expected)
        try checkResuming(file, expected)
    }

    private func checkEncoding(_ file: RandomFile, _ expected: SeenFile) throws {
        let fieldCount = expected.records.map(\.values.count).max() ?? 0
        let columns = Array((0..<fieldCount).reversed().prefix(3))
        let encoder = CopyTextEncoder(
            dialect: file.dialect,
            columns: columns,
            fieldCount: fieldCount
        )
        let reference = ReferenceEncoder(
            dialect: file.dialect,
            columns: columns,
            fieldCount: fieldCount
        )
        let prefix = Array("7\t".utf8)
        let reader = file.reader()
        try reader.skipLines(file.skippedLines)
        for record in expected.records {
            let line = reference.line(of: record)
            var output = prefix
            guard let next = try reader.next() else { break }
            let problem = encoder.encode(next, into: &output)
            try #require(output == prefix + (line ?? []), "\(file)")
            try #require((problem == nil) == (line != nil), "\(file)")
        }
    }

    private func checkResuming(_ file: RandomFile, _ expected: SeenFile) throws {
        let first = file.reader()
        try first.skipLines(file.skippedLines)
        let count = min(file.resumeAfter, expected.records.count)
        for _ in 0..<count {
            _ = try first.next()
        }
        let stored = try JSONEncoder().encode(first.position)
        let position = try JSONDecoder().decode(ReadPosition.self, from: stored)
        let rest = SeenFile(reading: file.reader(from: position))
        try #require(rest.records == Array(expected.records[count...]), "\(file)")
        try #require(rest.failure == expected.failure, "\(file)")
        try #require(rest.failureLine == expected.failureLine, "\(file)")
    }
}
