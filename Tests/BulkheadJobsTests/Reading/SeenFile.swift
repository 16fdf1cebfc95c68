@testable import BulkheadJobs

/// What a reader made of one record, to be compared.
struct SeenRecord: Equatable {
    var line: Int64
    var offset: Int64
    var length: Int64
    var bytes: [UInt8]
    var values: [SeenValue]
    var flaw: RecordFlaw?
}

/// What a reader made of one field.
struct SeenValue: Equatable {
    var bytes: [UInt8]
    var isQuoted: Bool
}

/// What a reader made of a whole file.
struct SeenFile: Equatable {
    var records: [SeenRecord] = []
    var failure: ReadError.Code?
    var failureLine: Int64?
    var position: ReadPosition?
}

extension SeenRecord {
    init(_ record: borrowing Record, _ dialect: TextDialect) {
        line = record.line
        offset = record.offset
        length = record.length
        bytes = Array(record.bytes)
        flaw = record.flaw
        values = []
        for index in record.fields.indices {
            values.append(
                SeenValue(
                    bytes: record.value(at: index, in: dialect) ?? [],
                    isQuoted: record.fields[index].isQuoted
                )
            )
        }
    }

    /// The values as text, NULL or not, for short expectations.
    var texts: [String] { values.map { String(decoding: $0.bytes, as: UTF8.self) } }
}

extension SeenFile {
    init(reading reader: RecordReader) {
        do {
            while let record = try reader.next() {
                records.append(SeenRecord(record, reader.dialect))
            }
            position = reader.position
        } catch {
            failure = error.code
            failureLine = error.line
        }
    }

    init(
        _ text: String,
        _ dialect: TextDialect = .csv,
        pieces: [Int] = [Int.max],
        limits: ReadLimits = .standard
    ) {
        self.init(
            reading: RecordReader(
                MemorySource(Array(text.utf8), pieces: pieces),
                dialect: dialect,
                limits: limits
            )
        )
    }

    var texts: [[String]] { records.map(\.texts) }
    var lines: [Int64] { records.map(\.line) }
}
