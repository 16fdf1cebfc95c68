@testable import BulkheadJobs

/// Makes a row of a line of JSON the slow and obvious way, for the columns of `JSONRowEncoderTests`, with
/// `x` renamed to `j` and `y` dropped.
struct ReferenceJSONRow: Equatable {
    var values: [[UInt8]?] = Array(repeating: nil, count: 5)
    var missing: Set<UInt16> = [0, 1, 2, 3, 4]

    static let renames = [ColumnRename("x", to: "j"), ColumnRename("y", to: nil)]

    /// Nil when the line must be rejected.
    init?(_ line: [UInt8]) {
        guard let members = ReferenceJSON.object(line) else { return nil }
        var isDropped = false
        for member in members {
            let name = String(decoding: member.key, as: UTF8.self).lowercased()
            if name == "y" {
                if isDropped { return nil }
                isDropped = true
                continue
            }
            guard let column = ["a", "b", "j", "t", "d"].firstIndex(of: name == "x" ? "j" : name),
                missing.remove(UInt16(column)) != nil
            else { return nil }
            if case .null = member.value { continue }
            guard let value = Self.value(member, column) else { return nil }
            values[column] = value
        }
    }

    private static func value(_ member: ReferenceJSON.Member, _ column: Int) -> [UInt8]? {
        if column == 2 { return member.raw }
        switch member.value {
        case .null, .boolean, .number: return member.raw
        case .string(let text): return text
        case .object: return nil
        case .array(let elements):
            if column < 3 { return nil }
            return column == 3 ? literal(elements) : literalOfJSON(elements)
        }
    }

    private static func literal(_ elements: [ReferenceJSON.Member]) -> [UInt8]? {
        var parts: [[UInt8]] = []
        for element in elements {
            switch element.value {
            case .null: parts.append(Array("NULL".utf8))
            case .boolean, .number: parts.append(element.raw)
            case .string(let text): parts.append(quoted(text))
            case .object: return nil
            case .array(let inner):
                guard let part = literal(inner) else { return nil }
                parts.append(part)
            }
        }
        return braces(parts)
    }

    private static func literalOfJSON(_ elements: [ReferenceJSON.Member]) -> [UInt8] {
        braces(
            elements.map { element in
                if case .null = element.value { return Array("NULL".utf8) }
                return quoted(element.raw)
            }
        )
    }

    private static func braces(_ parts: [[UInt8]]) -> [UInt8] {
        Array("{".utf8) + Array(parts.joined(separator: Array(",".utf8))) + Array("}".utf8)
    }

    private static func quoted(_ text: [UInt8]) -> [UInt8] {
        let escaped = text.flatMap { [0x22, 0x5C].contains($0) ? [0x5C, $0] : [$0] }
        return Array("\"".utf8) + escaped + Array("\"".utf8)
    }

    /// The row as a line for COPY.
    var line: [UInt8] {
        let fields = values.map { value in
            value.map { $0.flatMap(Self.copied) } ?? Array("\\N".utf8)
        }
        return Array(fields.joined(separator: [0x09])) + [0x0A]
    }

    private static func copied(_ byte: UInt8) -> [UInt8] {
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
