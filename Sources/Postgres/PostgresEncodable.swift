/// A value that can be sent as a parameter, in the server's text form.
public protocol PostgresEncodable: Sendable {
    /// The value as the server's input function reads it.
    var postgresText: String { get }
}

extension String: PostgresEncodable {
    /// The value as the server's input function reads it.
    public var postgresText: String { self }
}

extension Bool: PostgresEncodable {
    /// The value as the server's input function reads it.
    public var postgresText: String { self ? "t" : "f" }
}

extension Int: PostgresEncodable {
    /// The value as the server's input function reads it.
    public var postgresText: String { String(self) }
}

extension Int32: PostgresEncodable {
    /// The value as the server's input function reads it.
    public var postgresText: String { String(self) }
}

extension Int64: PostgresEncodable {
    /// The value as the server's input function reads it.
    public var postgresText: String { String(self) }
}

extension Double: PostgresEncodable {
    /// The value as the server's input function reads it.
    public var postgresText: String { String(self) }
}

extension Array: PostgresEncodable where Element: PostgresEncodable {
    /// The array literal, each element quoted.
    public var postgresText: String {
        var text = "{"
        for (index, element) in enumerated() {
            if index > 0 { text += "," }
            text += quotedElement(element.postgresText)
        }
        return text + "}"
    }

    private func quotedElement(_ element: String) -> String {
        var quoted = "\""
        for character in element.unicodeScalars {
            if character == "\"" || character == "\\" { quoted.unicodeScalars.append("\\") }
            quoted.unicodeScalars.append(character)
        }
        return quoted + "\""
    }
}

/// Bytes, sent as `bytea`.
public struct Bytes: PostgresEncodable, Hashable {
    /// The bytes.
    public var rawValue: [UInt8]

    /// Wraps bytes.
    public init(_ rawValue: [UInt8]) {
        self.rawValue = rawValue
    }

    /// The value as the server's input function reads it.
    public var postgresText: String {
        var text: [UInt8] = [UInt8(ascii: "\\"), UInt8(ascii: "x")]
        text.reserveCapacity(2 + rawValue.count * 2)
        let digits = [UInt8]("0123456789abcdef".utf8)
        for byte in rawValue {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
