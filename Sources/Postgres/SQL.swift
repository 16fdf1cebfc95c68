/// A statement and the values that go beside it.
///
/// An interpolated value becomes a parameter, never part of the text:
///
///     try connection.query("select name from airport where code = \(code)")
public struct SQL: Sendable, ExpressibleByStringInterpolation {
    /// The text around the values: one piece more than there are values.
    private var pieces: [String]
    private(set) var values: [String?] = []

    /// A statement without parameters.
    public init(stringLiteral value: String) {
        pieces = [value]
    }

    /// A statement whose interpolated values become parameters.
    public init(stringInterpolation: Interpolation) {
        self = stringInterpolation.sql
    }

    /// A statement whose text was put together by the caller from literals and quoted identifiers.
    public init(unsafe text: String) {
        pieces = [text]
    }

    /// The text with `$1`, `$2` and so on where the values go.
    var text: String {
        var text = pieces[0]
        for (index, piece) in pieces.dropFirst().enumerated() {
            text += "$\(index + 1)"
            text += piece
        }
        return text
    }

    /// A C string ends at a NUL, so that the server would be given less than was meant.
    func requireNoNUL() throws(PostgresError) {
        for (index, value) in values.enumerated() where value?.holdsNUL == true {
            throw PostgresError(
                state: .characterNotInRepertoire,
                message:
                    "parameter $\(index + 1) holds a NUL character, which no text of the server can"
            )
        }
        if pieces.contains(where: \.holdsNUL) {
            throw .misuse("the statement holds a NUL character")
        }
    }

    /// Collects the text and the parameters.
    public struct Interpolation: StringInterpolationProtocol {
        fileprivate var sql = SQL(unsafe: "")

        /// Starts with nothing.
        public init(literalCapacity: Int, interpolationCount: Int) {
            sql.pieces[0].reserveCapacity(literalCapacity)
        }

        /// Text of the statement.
        public mutating func appendLiteral(_ literal: String) {
            sql.pieces[sql.pieces.count - 1] += literal
        }

        /// A parameter.
        public mutating func appendInterpolation(_ value: (some PostgresEncodable)?) {
            sql.values.append(value?.postgresText)
            sql.pieces.append("")
        }

        /// A part of a statement, with its own parameters.
        public mutating func appendInterpolation(_ part: SQL) {
            appendLiteral(part.pieces[0])
            sql.pieces += part.pieces.dropFirst()
            sql.values += part.values
        }

        /// An identifier, quoted.
        public mutating func appendInterpolation(identifier: String) {
            appendLiteral(quoted(identifier: identifier))
        }

        /// Text that becomes part of the statement as it is: literals and quoted identifiers only.
        public mutating func appendInterpolation(unsafe fragment: String) {
            appendLiteral(fragment)
        }
    }
}

extension String {
    fileprivate var holdsNUL: Bool {
        var text = self
        return text.withUTF8 { $0.contains(0) }
    }
}
