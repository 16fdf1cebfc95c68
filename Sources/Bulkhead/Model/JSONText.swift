internal import FoundationEssentials
public import Postgres

/// A JSON document as text, as the server wrote it: no digit changes on its way through.
public struct JSONText: Sendable, Hashable, PostgresEncodable, PostgresDecodable,
    CustomStringConvertible
{
    /// The document.
    public let text: String

    /// Wraps a document.
    public init(_ text: String) {
        self.text = text
    }

    /// Takes over a document that the server wrote.
    public init(postgresText text: String) {
        self.text = text
    }

    /// Writes a value as a document.
    ///
    /// - Throws: `EncodingError`.
    public init(encoding value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        text = String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// Reads a value from the document.
    ///
    /// - Throws: `DecodingError`.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(type, from: Data(text.utf8))
    }

    /// The value as the server's input function reads it.
    public var postgresText: String { text }

    /// The same in words.
    public var description: String { text }
}
