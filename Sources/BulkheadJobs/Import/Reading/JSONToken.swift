/// Where one JSON value stands in its line.
struct JSONToken: Equatable {
    var kind = Kind.missing
    var start = 0
    var end = 0

    enum Kind: UInt8 {
        /// The object has no such key.
        case missing
        case null, boolean, number, array, object
        /// Without the quotes, it reads as it stands.
        case plainString
        case escapedString
    }
}

extension JSONToken {
    var isString: Bool { kind == .plainString || kind == .escapedString }
    var isNested: Bool { kind == .array || kind == .object }
    /// The bytes between the quotes of a string; all bytes of any other value.
    var content: Range<Int> { isString ? start + 1..<end - 1 : start..<end }
}
