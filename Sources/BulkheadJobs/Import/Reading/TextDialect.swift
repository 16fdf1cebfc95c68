/// How a delimited text file is written: its special bytes and its marks for NULL.
struct TextDialect: Sendable, Equatable {
    static let csv = TextDialect(delimiterOf: UInt8(ascii: ","))
    static let tsv = TextDialect(delimiterOf: UInt8(ascii: "\t"))

    let delimiter: UInt8
    let quote: UInt8
    /// The byte that escapes the quote and itself inside quotes; nil when a quote is doubled.
    let escape: UInt8?
    /// Unquoted fields that mean NULL, byte for byte.
    let nullMarkers: [[UInt8]]

    init(
        delimiter: UInt8 = UInt8(ascii: ","),
        quote: UInt8 = UInt8(ascii: "\""),
        escape: UInt8? = nil,
        nullMarkers: [[UInt8]] = [[]]
    ) throws(DialectError) {
        try Self.check(delimiter, role: "delimiter")
        try Self.check(quote, role: "quote")
        if delimiter == quote {
            throw DialectError("delimiter and quote are both \(Self.shown(quote)): change one")
        }
        if let escape, escape != quote {
            try Self.check(escape, role: "escape character")
            if escape == delimiter {
                throw DialectError(
                    "delimiter and escape character are both \(Self.shown(escape)): change one"
                )
            }
        }
        self.delimiter = delimiter
        self.quote = quote
        // An escape that is the quote is the doubled quote under another name.
        self.escape = escape == quote ? nil : escape
        self.nullMarkers = nullMarkers
        try checkMarkers()
    }

    private init(delimiterOf delimiter: UInt8) {
        self.delimiter = delimiter
        quote = UInt8(ascii: "\"")
        escape = nil
        nullMarkers = [[]]
    }

    private static func check(_ byte: UInt8, role: String) throws(DialectError) {
        switch byte {
        case 0x0A, 0x0D: throw DialectError("the \(role) cannot be a line end: use another")
        case 0: throw DialectError("the \(role) cannot be NUL: use another")
        // A byte of a longer character would cut that character in two.
        case 0x80...: throw DialectError("the \(role) must be one ASCII character: use another")
        default: return
        }
    }

    private func checkMarkers() throws(DialectError) {
        for marker in nullMarkers {
            let name = Quoted(String(decoding: marker, as: UTF8.self))
            if marker.contains(delimiter) {
                throw DialectError(
                    "the null marker \(name) holds the delimiter, so no field can equal it"
                )
            }
            if marker.contains(0x0A) || marker.contains(0x0D) {
                throw DialectError(
                    "the null marker \(name) holds a line end, so no field can equal it"
                )
            }
            if marker.first == quote {
                throw DialectError(
                    "the null marker \(name) begins with the quote, and quoted text is never NULL"
                )
            }
        }
    }

    private static func shown(_ byte: UInt8) -> String {
        Quoted(String(decoding: [byte], as: UTF8.self)).description
    }
}
