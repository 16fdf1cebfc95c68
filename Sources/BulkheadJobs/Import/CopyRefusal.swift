internal import Postgres

/// Where COPY found a bad value: read from the digits of its context, which stay digits in any language.
struct CopyRefusal: Equatable {
    /// The line of the data that was sent, from 1.
    let line: Int
    /// The staged column, from 1; nil when the whole row is to blame.
    let column: Int?

    /// Reads the context of an error of COPY into a table whose name holds no digit.
    ///
    /// - Returns: nil when the context does not speak of that COPY.
    init?(_ context: String?, table: String) {
        guard let context,
            let place = context.split(whereSeparator: \.isNewline).first(where: {
                $0.contains(table)
            })
        else { return nil }
        // What follows the first quotation mark is the value, which may look like anything.
        let head = place.prefix { !Self.quotationMarks.contains($0) }
        guard let name = head.firstRange(of: table),
            let line = head[name.upperBound...].firstMatch(of: /[0-9]+/).flatMap({ Int($0.output) })
        else { return nil }
        self.line = line
        column = head.firstMatch(of: /bulkhead_c([0-9]+)/).flatMap { Int($0.output.1) }
    }

    /// Those of the languages that the server speaks.
    private static let quotationMarks: Set<Character> = [
        "\"", "«", "»", "„", "“", "”", "‚", "‘", "’", "「",
    ]
}
