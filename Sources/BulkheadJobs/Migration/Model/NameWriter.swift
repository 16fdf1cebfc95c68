internal import Postgres

/// Writes identifiers as a person would: quoted where SQL needs it, and only there.
struct NameWriter {
    /// The words that mean something else without quotes.
    private let keywords: Set<String>

    init(_ connection: Connection) throws {
        let rows = try connection.query(
            "select word from pg_catalog.pg_get_keywords() where catcode <> 'U'"
        )
        keywords = Set(try (0..<rows.count).map { try rows.required($0, 0, as: String.self) })
    }

    func callAsFunction(_ name: String) -> String {
        let isPlain =
            !name.isEmpty && !name.utf8.contains { !Self.isPlain($0) }
            && name.utf8.first.map { !Self.isDigit($0) } == true && !keywords.contains(name)
        return isPlain ? name : quoted(identifier: name)
    }

    func callAsFunction(_ schema: String, _ name: String) -> String {
        "\(self(schema)).\(self(name))"
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || isDigit(byte)
            || byte == UInt8(ascii: "_")
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
