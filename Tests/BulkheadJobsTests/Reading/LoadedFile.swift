@testable import BulkheadJobs

/// What would reach a table from a file, and what would be rejected on the way.
struct LoadedFile {
    struct Reject: Equatable {
        var line: Int64
        var problem: RecordProblem
        var raw: String
    }

    var names: [String] = []
    var rows: [[String?]] = []
    var rowLines: [Int64] = []
    var rejects: [Reject] = []

    /// Reads to the end, or to the error that it throws.
    init(_ reader: RecordReader, columns: [String]? = nil) throws {
        names = try columns ?? reader.readHeader()
        let encoder = CopyTextEncoder(
            dialect: reader.dialect,
            columns: Array(names.indices),
            fieldCount: names.count
        )
        while let record = try reader.next() {
            var line: [UInt8] = []
            if let problem = encoder.encode(record, into: &line) {
                let raw = String(decoding: record.bytes, as: UTF8.self)
                rejects.append(Reject(line: record.line, problem: problem, raw: raw))
            } else {
                rows.append(Self.values(of: line))
                rowLines.append(record.line)
            }
        }
    }

    /// The rows as the checks of the cases print them: `quote_nullable` on all but the first.
    var printed: String {
        rows.map { row in
            let rest = row.dropFirst().map(Self.quoteNullable)
            return ([row.first.flatMap { $0 } ?? ""] + rest).joined(separator: "|") + "\n"
        }.joined()
    }

    /// Takes a line for COPY apart as the server does.
    private static func values(of line: [UInt8]) -> [String?] {
        line.dropLast().split(separator: 0x09, omittingEmptySubsequences: false).map { field in
            if field.elementsEqual("\\N".utf8) { return nil }
            var value: [UInt8] = []
            var isEscaped = false
            for byte in field {
                if isEscaped {
                    let letters: [UInt8: UInt8] = [
                        0x62: 0x08, 0x66: 0x0C, 0x6E: 0x0A, 0x72: 0x0D, 0x74: 0x09, 0x76: 0x0B,
                    ]
                    value.append(letters[byte] ?? byte)
                    isEscaped = false
                } else if byte == 0x5C {
                    isEscaped = true
                } else {
                    value.append(byte)
                }
            }
            return String(decoding: value, as: UTF8.self)
        }
    }

    private static func quoteNullable(_ value: String?) -> String {
        guard let value else { return "NULL" }
        let quoted = value.replacing("'", with: "''")
        return value.contains("\\")
            ? "E'\(quoted.replacing("\\", with: "\\\\"))'" : "'\(quoted)'"
    }
}
