internal import Bulkhead
internal import Postgres

/// An input row that could not be loaded, and why.
struct Reject: Sendable {
    let file: String
    let line: Int64
    let offset: Int64
    var columnName: String?
    var value: String?
    let sqlstate: String
    let message: String
    /// The row as it stands in the file, its first 64 KiB.
    let raw: [UInt8]

    static let keptBytes = 64 << 10
    private static let keptCharacters = 1000

    init(
        file: String,
        line: Int64,
        offset: Int64,
        columnName: String?,
        value: [UInt8]?,
        sqlstate: String,
        message: String,
        raw: some Collection<UInt8>
    ) {
        self.file = file
        self.line = line
        self.offset = offset
        self.columnName = columnName
        self.value = value.map {
            Self.storable(String(decoding: $0.prefix(Self.keptBytes), as: UTF8.self))
        }
        self.sqlstate = sqlstate
        self.message = Self.storable(message)
        self.raw = Array(raw.prefix(Self.keptBytes))
    }

    /// One line that says what is wrong where.
    var description: String {
        var text = "\(file) line \(line)"
        if let columnName { text += ", column \(columnName)" }
        return "\(text): \(message)"
    }

    private static func storable(_ text: String) -> String {
        String(text.prefix(keptCharacters).map { $0 == "\0" ? "\u{FFFD}" : $0 })
    }
}

extension Array where Element == Reject {
    /// Writes the rejects of a job, in one statement.
    func write(job: Int64, _ connection: Connection) throws {
        guard !isEmpty else { return }
        // Arrays of texts hold no NULL here: an empty name or value is told by its own flag.
        try connection.query(
            """
            insert into bulkhead.reject
                (job, file, line, byte_offset, column_name, value, sqlstate, message, raw)
            select \(job), r.file, r.line, r.byte_offset,
                case when r.has_column then r.column_name end, case when r.has_value then r.value end,
                r.sqlstate, r.message, r.raw
            from unnest(\(map(\.file))::text[], \(map(\.line))::bigint[], \(map(\.offset))::bigint[],
                \(map { $0.columnName != nil })::boolean[], \(map { $0.columnName ?? "" })::text[],
                \(map { $0.value != nil })::boolean[], \(map { $0.value ?? "" })::text[],
                \(map(\.sqlstate))::text[], \(map(\.message))::text[],
                \(map { Bytes($0.raw) })::bytea[])
                as r (file, line, byte_offset, has_column, column_name, has_value, value, sqlstate,
                    message, raw)
            """
        )
    }
}
