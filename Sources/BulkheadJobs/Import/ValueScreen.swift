/// Tells values that a built-in type surely takes from those that the server has to be asked about.
///
/// It lets through only the plainest forms, so what it lets through the server takes as well; what it does
/// not may be good all the same.
struct ValueScreen {
    private let form: Form

    private enum Form {
        case integer(ClosedRange<Int64>)
        case decimal(digits: Int)
        case text(limit: Int)
        case boolean
        case date
        case timestamp
        case uuid
    }

    /// A screen for a column; nil where it knows no plain form.
    init?(_ column: ImportTarget.Column) {
        switch column.typeName {
        case "int2": form = .integer(Int64(Int16.min)...Int64(Int16.max))
        case "int4": form = .integer(Int64(Int32.min)...Int64(Int32.max))
        case "int8": form = .integer(Int64.min...Int64.max)
        case "float4", "float8": form = .decimal(digits: 30)
        case "numeric":
            guard !column.hasModifier else { return nil }
            form = .decimal(digits: 1000)
        case "text": form = .text(limit: .max)
        case "varchar":
            guard let limit = Self.modifier(column) else { return nil }
            form = .text(limit: limit)
        case "bool": form = .boolean
        case "date": form = .date
        case "timestamp", "timestamptz":
            guard !column.hasModifier else { return nil }
            form = .timestamp
        case "uuid": form = .uuid
        default: return nil
        }
    }

    private static func modifier(_ column: ImportTarget.Column) -> Int? {
        guard column.hasModifier else { return .max }
        return column.type.firstMatch(of: /\(([0-9]+)\)/).flatMap { Int($0.output.1) }
    }

    /// Whether the server surely takes a field of COPY's text format.
    func passes(_ field: ArraySlice<UInt8>) -> Bool {
        // NULL: whether the column takes it is not a matter of its type.
        if field.elementsEqual([Byte.backslash, UInt8(ascii: "N")]) { return true }
        switch form {
        case .integer(let range): return integer(field).map(range.contains) ?? false
        case .decimal(let digits): return isDecimal(field, digits)
        // The text is escaped and counted in bytes: never shorter than its characters.
        case .text(let limit): return field.count <= limit
        case .boolean:
            return field.count == 1
                && (field.first == UInt8(ascii: "t") || field.first == UInt8(ascii: "f"))
        case .date: return field.count == 10 && isDate(field)
        case .timestamp: return isTimestamp(field)
        case .uuid: return isUUID(field)
        }
    }

    private func integer(_ field: ArraySlice<UInt8>) -> Int64? {
        guard let first = field.first else { return nil }
        let isNegative = first == UInt8(ascii: "-")
        let digits = isNegative ? field.dropFirst() : field
        // 18 digits fit whatever they are.
        guard (1...18).contains(digits.count) else { return nil }
        var value: Int64 = 0
        for byte in digits {
            guard isDigit(byte) else { return nil }
            value = value * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        return isNegative ? -value : value
    }

    private func isDecimal(_ field: ArraySlice<UInt8>, _ limit: Int) -> Bool {
        var digits = 0
        var points = 0
        for (index, byte) in zip(field.indices, field) {
            if isDigit(byte) {
                digits += 1
            } else if byte == UInt8(ascii: ".") {
                points += 1
            } else if byte != UInt8(ascii: "-") || index != field.startIndex {
                return false
            }
        }
        return (1...limit).contains(digits) && points <= 1
    }

    /// `2013-01-31`; the 29th and later only where every month has them.
    private func isDate(_ field: ArraySlice<UInt8>) -> Bool {
        guard field.count >= 10 else { return false }
        let start = field.startIndex
        guard let year = number(field, start, 4), let month = number(field, start + 5, 2),
            let day = number(field, start + 8, 2), field[start + 4] == UInt8(ascii: "-"),
            field[start + 7] == UInt8(ascii: "-"), year > 0
        else { return false }
        let last = month == 2 ? 28 : [4, 6, 9, 11].contains(month) ? 30 : 31
        return (1...12).contains(month) && (1...last).contains(day)
    }

    /// `2013-01-31 05:00:00`, with a T in the middle or a Z at the end too.
    private func isTimestamp(_ field: ArraySlice<UInt8>) -> Bool {
        guard isDate(field) else { return false }
        let zoned = field.last == UInt8(ascii: "Z")
        guard field.count == (zoned ? 20 : 19) else { return field.count == 10 }
        let start = field.startIndex
        guard field[start + 10] == UInt8(ascii: " ") || field[start + 10] == UInt8(ascii: "T"),
            field[start + 13] == UInt8(ascii: ":"), field[start + 16] == UInt8(ascii: ":"),
            let hour = number(field, start + 11, 2), let minute = number(field, start + 14, 2),
            let second = number(field, start + 17, 2)
        else { return false }
        return hour < 24 && minute < 60 && second < 60
    }

    private func isUUID(_ field: ArraySlice<UInt8>) -> Bool {
        guard field.count == 36 else { return false }
        for (offset, byte) in field.enumerated() {
            let isHyphen = offset == 8 || offset == 13 || offset == 18 || offset == 23
            guard isHyphen ? byte == UInt8(ascii: "-") : isHexDigit(byte) else { return false }
        }
        return true
    }

    private func number(_ field: ArraySlice<UInt8>, _ start: Int, _ count: Int) -> Int? {
        var value = 0
        for byte in field[start..<start + count] {
            guard isDigit(byte) else { return nil }
            value = value * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return value
    }

    private func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private func isHexDigit(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
            || (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte)
    }
}
