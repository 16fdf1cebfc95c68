/// What tells a row of a live query from all others, as text.
///
/// Two of them are the same when their bytes are: to Swift's strings two spellings of one letter are equal, and to
/// the database they are two keys.
public struct RowID: Sendable, Hashable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// The text.
    public let text: String

    /// Wraps a text.
    public init(_ text: String) {
        self.text = text
    }

    /// Wraps a text.
    public init(stringLiteral text: String) {
        self.text = text
    }

    /// The text.
    public var description: String { text }

    /// Compares bytes.
    public static func == (one: RowID, other: RowID) -> Bool {
        one.text.utf8.elementsEqual(other.text.utf8)
    }

    /// Feeds the bytes.
    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
