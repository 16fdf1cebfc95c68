/// A statement and the values that go beside it.
///
/// An interpolated value becomes a parameter, never part of the text:
///
///     try connection.query("select name from airport where code = \(code)")
public struct SQL: Sendable, ExpressibleByStringInterpolation {
    var text: String
    var values: [String?]

    /// A statement without parameters.
    public init(stringLiteral value: String) {
        text = value
        values = []
    }

    /// A statement whose interpolated values become parameters.
    public init(stringInterpolation: Interpolation) {
        text = stringInterpolation.text
        values = stringInterpolation.values
    }

    /// A statement whose text was put together by the caller from literals and quoted identifiers.
    public init(unsafe text: String) {
        self.text = text
        values = []
    }

    /// Collects the text and the parameters.
    public struct Interpolation: StringInterpolationProtocol {
        var text = ""
        var values: [String?] = []

        public init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + interpolationCount * 3)
        }

        public mutating func appendLiteral(_ literal: String) {
            text += literal
        }

        /// A parameter.
        public mutating func appendInterpolation(_ value: (some PostgresEncodable)?) {
            values.append(value?.postgresText)
            text += "$\(values.count)"
        }

        /// An identifier, quoted.
        public mutating func appendInterpolation(identifier: String) {
            text += quoted(identifier: identifier)
        }

        /// Text that becomes part of the statement as it is: literals and quoted identifiers only.
        public mutating func appendInterpolation(unsafe fragment: String) {
            text += fragment
        }
    }
}
