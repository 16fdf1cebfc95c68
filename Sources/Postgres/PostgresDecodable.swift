/// A value that can be read from the server's text form.
public protocol PostgresDecodable {
    /// Reads the text that the server's output function wrote; nil when it is not such a value.
    init?(postgresText: String)
}

extension String: PostgresDecodable {
    /// Reads the text that the server wrote; nil when it is not such a value.
    public init?(postgresText: String) { self = postgresText }
}

extension Bool: PostgresDecodable {
    /// Reads the text that the server wrote; nil when it is not such a value.
    public init?(postgresText: String) {
        switch postgresText {
        case "t": self = true
        case "f": self = false
        default: return nil
        }
    }
}

extension Int: PostgresDecodable {
    /// Reads the text that the server wrote; nil when it is not such a value.
    public init?(postgresText: String) { self.init(postgresText) }
}

extension Int32: PostgresDecodable {
    /// Reads the text that the server wrote; nil when it is not such a value.
    public init?(postgresText: String) { self.init(postgresText) }
}

extension Int64: PostgresDecodable {
    /// Reads the text that the server wrote; nil when it is not such a value.
    public init?(postgresText: String) { self.init(postgresText) }
}

extension Double: PostgresDecodable {
    /// Reads the text that the server wrote; nil when it is not such a value.
    public init?(postgresText: String) { self.init(postgresText) }
}

extension Bytes: PostgresDecodable {
    /// Reads the text that the server wrote; nil when it is not such a value.
    public init?(postgresText: String) {
        let text = Array(postgresText.utf8)
        guard text.starts(with: "\\x".utf8), text.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 2 - 1)
        for index in stride(from: 2, to: text.count, by: 2) {
            guard let high = hexDigit(text[index]), let low = hexDigit(text[index + 1]) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        self.init(bytes)
    }
}

private func hexDigit(_ character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
    default: nil
    }
}
