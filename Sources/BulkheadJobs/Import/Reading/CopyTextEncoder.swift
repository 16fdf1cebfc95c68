/// Writes records of delimited fields as lines of PostgreSQL's text format for COPY.
struct CopyTextEncoder: RowEncoder {
    /// Each record has all fields, or is rejected.
    let missing: [UInt16] = []

    private let dialect: TextDialect
    private let columns: [Int]
    private let expectedFields: Int
    private let escape: UInt8
    private let quote: UInt8
    private let emptyIsNull: Bool
    private let nullMarkers: [[UInt8]]

    /// Writes the fields of the given indices, in this order, of records of `fieldCount` fields.
    init(dialect: TextDialect, columns: [Int], fieldCount: Int) {
        precondition(
            columns.allSatisfy { 0..<fieldCount ~= $0 },
            "a column to write must be one of the fields"
        )
        self.dialect = dialect
        self.columns = columns
        expectedFields = fieldCount
        escape = dialect.escape ?? dialect.quote
        quote = dialect.quote
        emptyIsNull = dialect.nullMarkers.contains([])
        nullMarkers = dialect.nullMarkers.filter { !$0.isEmpty }
    }

    func encode(_ record: borrowing Record, into output: inout [UInt8]) -> RecordProblem? {
        if let flaw = record.flaw {
            return RecordProblem(flaw)
        }
        guard record.fields.count == expectedFields else {
            return .fieldCount(record.fields.count, expected: expectedFields)
        }
        return record.withSpan { bytes in
            let survey = ByteSurvey(bytes)
            if survey.isSuspect, let problem = findProblem(bytes, record.fields, survey) {
                return problem
            }
            append(bytes, record.fields, escaping: survey.holdsSpecial, to: &output)
            return nil
        }
    }

    func value(at field: Int, of record: borrowing Record) -> [UInt8]? {
        record.value(at: field, in: dialect)
    }

    private func findProblem(
        _ bytes: Span<UInt8>,
        _ fields: [Field],
        _ survey: ByteSurvey
    ) -> RecordProblem? {
        if survey.holdsNUL, let offset = bytes.indices.first(where: { bytes[$0] == 0 }) {
            return .nulByte(field: field(at: offset, fields), offset: offset)
        }
        guard survey.holdsNonASCII else { return nil }
        do {
            _ = try UTF8Span(validating: bytes)
            return nil
        } catch {
            let offset = error.byteOffsets.lowerBound
            let field = field(at: offset, fields)
            return .invalidBytes(field: field, offset: offset, byte: bytes[offset])
        }
    }

    private func field(at offset: Int, _ fields: [Field]) -> Int? {
        fields.firstIndex { offset <= $0.end }.map { $0 + 1 }
    }

    private func append(
        _ bytes: Span<UInt8>,
        _ fields: [Field],
        escaping: Bool,
        to output: inout [UInt8]
    ) {
        var room = 0
        for column in columns {
            // At worst each byte is escaped; a NULL takes two, and each field a tab or line end.
            room += (fields[column].end - fields[column].start) * (escaping ? 2 : 1) + 3
        }
        output.append(addingCapacity: room + 1) { output in
            var isFirst = true
            for column in columns {
                if !isFirst {
                    output.append(Byte.tab)
                }
                isFirst = false
                append(fields[column], of: bytes, escaping: escaping, to: &output)
            }
            output.append(Byte.lineFeed)
        }
    }

    private func append(
        _ field: Field,
        of bytes: Span<UInt8>,
        escaping: Bool,
        to output: inout OutputSpan<UInt8>
    ) {
        if !field.isQuoted, isNull(field, bytes) {
            output.append(Byte.backslash)
            output.append(UInt8(ascii: "N"))
            return
        }
        if !escaping, !field.isEscaped {
            for index in field.start..<field.end {
                output.append(bytes[index])
            }
            return
        }
        var index = field.start
        while index < field.end {
            var byte = bytes[index]
            index += 1
            if field.isEscaped, byte == escape, index < field.end,
                bytes[index] == quote || bytes[index] == escape
            {
                byte = bytes[index]
                index += 1
            }
            Self.append(byte, to: &output)
        }
    }

    private func isNull(_ field: Field, _ bytes: Span<UInt8>) -> Bool {
        if field.start == field.end {
            return emptyIsNull
        }
        return nullMarkers.contains { marker in
            guard marker.count == field.end - field.start else { return false }
            return marker.indices.allSatisfy { marker[$0] == bytes[field.start + $0] }
        }
    }

    /// Appends a byte of a value, escaped where COPY wants it.
    static func append(_ byte: UInt8, to output: inout OutputSpan<UInt8>) {
        let letter: UInt8? =
            switch byte {
            case Byte.backslash: byte
            case Byte.backspace: UInt8(ascii: "b")
            case Byte.tab: UInt8(ascii: "t")
            case Byte.lineFeed: UInt8(ascii: "n")
            case Byte.verticalTab: UInt8(ascii: "v")
            case Byte.formFeed: UInt8(ascii: "f")
            case Byte.carriageReturn: UInt8(ascii: "r")
            default: nil
            }
        if letter != nil {
            output.append(Byte.backslash)
        }
        output.append(letter ?? byte)
    }
}
