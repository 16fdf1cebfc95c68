extension RecordProblem {
    private static let invalidJSON = "22032"
    private static let repeatedKey = "22030"
    private static let untranslatable = "22P05"

    /// Says why no row can be made of a line of JSON.
    init(_ error: JSONRowError, _ columns: [JSONRowEncoder.Column], _ bytes: Span<UInt8>) {
        switch error {
        case .flaw(let flaw): self.init(flaw, column: nil)
        case .valueFlaw(let flaw, .success(let target)):
            self.init(flaw, column: target < columns.count ? columns[target].name : nil)
        case .valueFlaw(let flaw, .failure): self.init(flaw, column: nil)
        case .noObject(let offset):
            self.init(
                sqlstate: Self.invalidJSON,
                message: "no JSON object at offset \(offset) of the record: each line must be one"
            )
        case .textAfterObject(let offset):
            self.init(
                sqlstate: Self.invalidJSON,
                message: "text after the object at offset \(offset) of the record: "
                    + "each line must be one object"
            )
        case .key(let problem, let value):
            self.init(
                column: problem.column,
                value: Self.shown(value, of: bytes),
                sqlstate: Self.badCopyFormat,
                message: problem.message
            )
        case .repeated(let key, let first, let value, let target):
            self.init(repeated: key, first, value, target, columns, bytes)
        }
    }

    private init(
        repeated key: JSONToken,
        _ first: JSONToken,
        _ value: JSONToken,
        _ target: Int,
        _ columns: [JSONRowEncoder.Column],
        _ bytes: Span<UInt8>
    ) {
        let column = target < columns.count ? columns[target].name : nil
        let text = JSONString.text(key, of: bytes)
        let firstText = JSONString.text(first, of: bytes)
        let name = Quoted(String(decoding: text, as: UTF8.self))
        let firstName = Quoted(String(decoding: firstText, as: UTF8.self))
        let place = column.map { "go to the column \(Quoted($0))" } ?? "are dropped as one"
        self.init(
            column: column,
            value: Self.shown(value, of: bytes),
            sqlstate: Self.repeatedKey,
            message: text == firstText
                ? "the key \(name) repeats at offset \(key.start) of the record"
                : "the keys \(firstName) and \(name) both \(place)"
        )
    }

    private init(_ flaw: JSONFlaw, column: String?) {
        let place = "at offset \(flaw.offset) of the record"
        switch flaw.reason {
        case .malformed(let words):
            self.init(
                column: column,
                sqlstate: Self.invalidJSON,
                message: "invalid JSON: \(words) \(place)"
            )
        case .nulEscape:
            self.init(
                column: column,
                sqlstate: Self.untranslatable,
                message: "NUL character (\\u0000) \(place): text cannot hold it"
            )
        case .loneSurrogate:
            self.init(
                column: column,
                sqlstate: Self.invalidJSON,
                message: "invalid JSON: half of a surrogate pair \(place)"
            )
        case .tooDeep(let limit):
            self.init(
                column: column,
                sqlstate: Self.limitExceeded,
                message: "values nested more than \(limit) levels deep \(place)"
            )
        }
    }

    /// What a value says, as much of it as a reject keeps.
    static func shown(_ token: JSONToken, of bytes: Span<UInt8>) -> [UInt8] {
        token.kind == .escapedString && token.content.count <= Reject.keptBytes
            ? JSONString.text(token, of: bytes)
            : token.content.prefix(Reject.keptBytes).map { bytes[$0] }
    }
}
