/// How a column takes JSON values.
enum JSONForm: Sendable, Equatable {
    /// Strings as their text, all else as it is written; nothing nested.
    case scalar
    /// Whatever it is, as it is written.
    case json
    /// Arrays as the server writes its own; these elements are parted by a byte of the type's.
    case array(delimiter: UInt8, isOfJSON: Bool)
}
