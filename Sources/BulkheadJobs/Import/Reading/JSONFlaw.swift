/// Why a line is not the object that a row can be made of.
struct JSONFlaw: Error, Equatable {
    let reason: Reason
    /// Where in the line, in bytes.
    let offset: Int

    enum Reason: Equatable {
        case malformed(String)
        case nulEscape
        case loneSurrogate
        case tooDeep(limit: Int)
    }
}

extension JSONFlaw {
    static func malformed(_ words: String, at offset: Int) -> JSONFlaw {
        JSONFlaw(reason: .malformed(words), offset: offset)
    }
}
