/// A piece of SQL as the server's lexer cuts it; blanks lie between the pieces.
struct SQLToken: Equatable {
    let kind: Kind
    /// Where it stands, in bytes from the start of the text.
    let range: Range<Int>
    /// The line on which it begins, from 1.
    let line: Int

    enum Kind: Equatable {
        /// A name or key word without quotes, in lower case.
        case word(String)
        /// A name in double quotes, without them.
        case quotedName(String)
        case string
        case number
        case symbol(UInt8)
        case lineComment
        case blockComment
    }

    /// Whether it is this key word.
    func isWord(_ word: String) -> Bool { kind == .word(word) }

    /// Whether it is this sign.
    func isSymbol(_ sign: Unicode.Scalar) -> Bool { kind == .symbol(UInt8(ascii: sign)) }

    var isComment: Bool { kind == .lineComment || kind == .blockComment }

    /// The name that it is, as the server folds it; nil for anything else.
    var name: String? {
        switch kind {
        case .word(let name), .quotedName(let name): name
        default: nil
        }
    }
}

/// SQL whose end nobody can find: something was opened and not closed.
struct SQLFlaw: Error, Equatable {
    let message: String
    let line: Int
}
