import Foundation

@testable import BulkheadJobs

/// The files of the field cases, beside these tests.
enum CaseFiles {
    static let path = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent()
        .deletingLastPathComponent()
        .appendingPathComponent("Cases").path

    static func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(name)")))
    }

    static func text(_ name: String) throws -> String {
        String(decoding: try bytes(name), as: UTF8.self)
    }

    static func reader(
        _ name: String,
        dialect: TextDialect = .csv
    ) throws -> RecordReader {
        RecordReader(try ImportRoot(path).open(name).source(), dialect: dialect)
    }
}
