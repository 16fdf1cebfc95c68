/// Writes lines of JSON as lines of PostgreSQL's text format for COPY.
struct JSONRowEncoder: RowEncoder {
    /// A column that is filled.
    struct Column: Sendable {
        let name: String
        let form: JSONForm
    }

    private(set) var missing: [UInt16] = []

    private let columns: [Column]
    private var row: JSONRow

    /// Takes the columns in the order in which they are written, and where the keys go.
    init(columns: [Column], keys: JSONKeys) {
        self.columns = columns
        row = JSONRow(keys: keys)
    }

    mutating func encode(
        _ record: borrowing Record,
        into output: inout [UInt8]
    ) -> RecordProblem? {
        if let flaw = record.flaw {
            return RecordProblem(flaw)
        }
        return record.withSpan { bytes in
            let survey = ByteSurvey(bytes)
            if survey.isSuspect, let problem = Self.findProblem(bytes, survey) {
                return problem
            }
            do throws(JSONRowError) {
                try row.read(bytes)
            } catch {
                return RecordProblem(error, columns, bytes)
            }
            if let problem = findMisfit(row.values, bytes) {
                return problem
            }
            append(row.values, bytes, escaping: survey.holdsSpecial, to: &output)
            noteMissing()
            return nil
        }
    }

    /// Rows mostly lack the same keys as the row before: then they share one list.
    private mutating func noteMissing() {
        var count = 0
        var isSame = true
        for index in columns.indices where row.values[index].kind == .missing {
            isSame = isSame && count < missing.count && missing[count] == index
            count += 1
        }
        guard !isSame || count != missing.count else { return }
        missing = columns.indices.filter { row.values[$0].kind == .missing }.map {
            UInt16(clamping: $0)
        }
    }

    func value(at column: Int, of record: borrowing Record) -> [UInt8]? {
        let token = row.values[column]
        return switch token.kind {
        case .missing, .null: nil
        case .escapedString: record.withSpan { JSONString.text(token, of: $0) }
        default: Array(record.bytes.dropFirst(token.content.lowerBound).prefix(token.content.count))
        }
    }
}

// MARK: What cannot be loaded

extension JSONRowEncoder {
    private static func findProblem(_ bytes: Span<UInt8>, _ survey: ByteSurvey) -> RecordProblem? {
        if survey.holdsNUL, let offset = bytes.indices.first(where: { bytes[$0] == 0 }) {
            return .nulByte(field: nil, offset: offset)
        }
        guard survey.holdsNonASCII else { return nil }
        do {
            _ = try UTF8Span(validating: bytes)
            return nil
        } catch {
            let offset = error.byteOffsets.lowerBound
            return .invalidBytes(field: nil, offset: offset, byte: bytes[offset])
        }
    }

    /// A nested value in a column that cannot take it.
    private func findMisfit(_ values: [JSONToken], _ bytes: Span<UInt8>) -> RecordProblem? {
        for (index, column) in columns.enumerated() where values[index].isNested {
            let token = values[index]
            switch column.form {
            case .json: continue
            case .array(_, let isOfJSON):
                if token.kind == .array,
                    isOfJSON || !JSONArray.holdsObject(token, of: bytes)
                {
                    continue
                }
            case .scalar: break
            }
            let isArray = token.kind == .array
            let isInArray = isArray && column.form != .scalar
            return RecordProblem(
                column: column.name,
                value: RecordProblem.shown(token, of: bytes),
                sqlstate: "22P02",
                message: isInArray
                    ? "an object inside an array, which the column's type cannot hold"
                    : "\(isArray ? "an array" : "an object"), which the column's type cannot hold"
            )
        }
        return nil
    }
}

// MARK: The line for COPY

extension JSONRowEncoder {
    private func append(
        _ values: [JSONToken],
        _ bytes: Span<UInt8>,
        escaping: Bool,
        to output: inout [UInt8]
    ) {
        var room = 1
        for (index, column) in columns.enumerated() {
            room += Self.room(values[index], column.form, bytes, escaping: escaping)
        }
        output.append(addingCapacity: room) { output in
            for (index, column) in columns.enumerated() {
                if index > 0 {
                    output.append(Byte.tab)
                }
                Self.append(values[index], column.form, bytes, escaping: escaping, to: &output)
            }
            output.append(Byte.lineFeed)
        }
    }

    /// The bytes that a value takes at most, with a tab; close, since a value may be very large.
    private static func room(
        _ token: JSONToken,
        _ form: JSONForm,
        _ bytes: Span<UInt8>,
        escaping: Bool
    ) -> Int {
        let size = token.end - token.start
        guard token.kind != .null, token.kind != .missing else { return 3 }
        if token.kind == .array, case .array = form {
            return JSONArray.room(token, of: bytes) + 1
        }
        guard escaping, token.isNested || token.isString else { return size + 1 }
        // An escape of JSON is never shorter than COPY's of the same byte.
        guard form == .json else { return size + 1 }
        var special = 0
        for index in token.start..<token.end
        where bytes[index] < 0x20 || bytes[index] == Byte.backslash {
            special += 1
        }
        return size + special + 1
    }

    private static func append(
        _ token: JSONToken,
        _ form: JSONForm,
        _ bytes: Span<UInt8>,
        escaping: Bool,
        to output: inout OutputSpan<UInt8>
    ) {
        switch (token.kind, form) {
        case (.missing, _), (.null, _):
            output.append(Byte.backslash)
            output.append(UInt8(ascii: "N"))
        case (.array, .array(let delimiter, let isOfJSON)):
            var array = JSONArray(token, of: bytes)
            array.write(delimiter: delimiter, isOfJSON: isOfJSON, bytes, to: &output)
        case (_, .json) where escaping:
            for index in token.start..<token.end {
                CopyTextEncoder.append(bytes[index], to: &output)
            }
        case (.escapedString, .scalar), (.escapedString, .array):
            var string = JSONString(token.content)
            while let piece = string.next(of: bytes) {
                switch piece {
                case .run(let range): output.append(bytes, range)
                case .character(let character):
                    for byte in character {
                        CopyTextEncoder.append(byte, to: &output)
                    }
                }
            }
        case (_, .json):
            output.append(bytes, token.start..<token.end)
        default:
            // Inside quotes nothing stands unescaped that COPY would take for more than it is.
            output.append(bytes, token.content)
        }
    }
}

extension OutputSpan<UInt8> {
    /// Appends bytes as they stand.
    mutating func append(_ bytes: Span<UInt8>, _ range: Range<Int>) {
        for index in range {
            append(bytes[index])
        }
    }
}
