@testable import BulkheadJobs

/// Writes a record as a line for COPY the slow and obvious way.
struct ReferenceEncoder {
    let dialect: TextDialect
    let columns: [Int]
    let fieldCount: Int

    /// The line, or nil when the record must be rejected.
    func line(of record: SeenRecord) -> [UInt8]? {
        if record.flaw != nil || record.values.count != fieldCount { return nil }
        if record.bytes.contains(0) || String(validating: record.bytes, as: UTF8.self) == nil {
            return nil
        }
        let fields = columns.map { text(of: record.values[$0]) }
        return Array(fields.joined(separator: [0x09])) + [0x0A]
    }

    private func text(of value: SeenValue) -> [UInt8] {
        if !value.isQuoted, dialect.nullMarkers.contains(value.bytes) {
            return Array("\\N".utf8)
        }
        return value.bytes.flatMap { byte -> [UInt8] in
            switch byte {
            case 0x08: Array("\\b".utf8)
            case 0x09: Array("\\t".utf8)
            case 0x0A: Array("\\n".utf8)
            case 0x0B: Array("\\v".utf8)
            case 0x0C: Array("\\f".utf8)
            case 0x0D: Array("\\r".utf8)
            case 0x5C: Array("\\\\".utf8)
            default: [byte]
            }
        }
    }
}
