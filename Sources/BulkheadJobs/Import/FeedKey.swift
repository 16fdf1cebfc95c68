/// Writes a record's primary key as it stands in the feed, from the file alone.
///
/// That holds only for types whose text is canonical: the server prints such a value as it was written.
/// A value that is not written so (`007`, an upper-case uuid) is refused, and the server is asked instead.
struct FeedKey: Sendable {
    private let parts: [Part]

    struct Part: Sendable {
        let field: Int
        let form: Form
        let isNumber: Bool
    }

    enum Form: Sendable {
        case integer, text, uuid
    }

    /// The key's columns and the fields that they come from; nil when their text is not canonical.
    init?(_ columns: [(column: ImportTarget.Column, field: Int)]) {
        var parts: [Part] = []
        for (column, field) in columns {
            guard !column.hasModifier, let form = Form(typeName: column.typeName) else {
                return nil
            }
            parts.append(Part(field: field, form: form, isNumber: column.isFeedNumber))
        }
        self.parts = parts
    }

    /// Appends the key as JSON, or nothing when a value is not canonical.
    ///
    /// `value` is what the record says in a field, nil for NULL.
    @inline(__always)
    func append(
        to json: inout [UInt8],
        value: (_ field: Int) -> [UInt8]?
    ) {
        let end = json.count
        if parts.count > 1 { json.append(UInt8(ascii: "[")) }
        for (index, part) in parts.enumerated() {
            guard let value = value(part.field),
                part.form.isCanonical(value)
            else {
                json.removeSubrange(end...)
                return
            }
            if index > 0 { json.append(UInt8(ascii: ",")) }
            if part.isNumber { json += value } else { appendText(value, to: &json) }
        }
        if parts.count > 1 { json.append(UInt8(ascii: "]")) }
    }

    private func appendText(_ value: [UInt8], to json: inout [UInt8]) {
        json.append(UInt8(ascii: "\""))
        for byte in value {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                json.append(UInt8(ascii: "\\"))
                json.append(byte)
            } else if byte < 0x20 {
                let digits = Array("0123456789abcdef".utf8)
                json += "\\u00".utf8
                json.append(digits[Int(byte >> 4)])
                json.append(digits[Int(byte & 15)])
            } else {
                json.append(byte)
            }
        }
        json.append(UInt8(ascii: "\""))
    }
}

extension FeedKey.Form {
    fileprivate init?(typeName: String) {
        switch typeName {
        case "int2", "int4", "int8": self = .integer
        case "text", "varchar": self = .text
        case "uuid": self = .uuid
        default: return nil
        }
    }

    fileprivate func isCanonical(_ value: [UInt8]) -> Bool {
        switch self {
        case .integer: isCanonicalInteger(value)
        case .text: true
        case .uuid: isCanonicalUUID(value)
        }
    }

    private func isCanonicalInteger(_ value: [UInt8]) -> Bool {
        let digits = value.first == UInt8(ascii: "-") ? value.dropFirst() : value[...]
        guard let first = digits.first, digits.allSatisfy(isDigit) else { return false }
        return first != UInt8(ascii: "0") || value.count == 1
    }

    private func isCanonicalUUID(_ value: [UInt8]) -> Bool {
        guard value.count == 36 else { return false }
        return value.indices.allSatisfy { index in
            let byte = value[index]
            if [8, 13, 18, 23].contains(index) { return byte == UInt8(ascii: "-") }
            return isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
        }
    }

    private func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
