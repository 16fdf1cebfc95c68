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
    /// The size of the whole row.
    let rowBytes: Int64
    let lineEnd: LineEnd

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
        raw: some Collection<UInt8>,
        rowBytes: Int64,
        lineEnd: LineEnd
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
        self.rowBytes = rowBytes
        self.lineEnd = lineEnd
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

/// What the rejects of a file need besides to be a file again.
struct RejectFile: Sendable {
    let name: String
    /// The header with its line end; nil when the file has none.
    let header: [UInt8]?
    /// Whether the file is in another encoding than its rejects.
    let isConverted: Bool
}

extension [Reject] {
    /// Writes the rejects of a job that stand in one file, in the file's order, in one statement.
    func write(job: Int64, of file: RejectFile, _ connection: Connection) throws {
        guard !isEmpty else { return }
        let ordered = sorted { $0.offset < $1.offset }
        // Arrays of texts hold no NULL here: an empty name or value is told by its own flag.
        try connection.query(
            """
            with of_file as (
                insert into bulkhead.reject_file as f (job, file, header, is_converted)
                values (\(job), \(file.name), \(file.header.map { Bytes($0) }), \(file.isConverted))
                on conflict (job, file) do update
                set header = excluded.header, is_converted = excluded.is_converted
                where (f.header, f.is_converted) is distinct from (excluded.header, excluded.is_converted)
            )
            insert into bulkhead.reject (job, file, line, byte_offset, column_name, value, sqlstate,
                message, raw, row_bytes, line_end)
            select \(job), r.file, r.line, r.byte_offset,
                case when r.has_column then r.column_name end, case when r.has_value then r.value end,
                r.sqlstate, r.message, r.raw, r.row_bytes, r.line_end
            from unnest(\(ordered.map(\.file))::text[], \(ordered.map(\.line))::bigint[],
                \(ordered.map(\.offset))::bigint[],
                \(ordered.map { $0.columnName != nil })::boolean[],
                \(ordered.map { $0.columnName ?? "" })::text[],
                \(ordered.map { $0.value != nil })::boolean[], \(ordered.map { $0.value ?? "" })::text[],
                \(ordered.map(\.sqlstate))::text[], \(ordered.map(\.message))::text[],
                \(ordered.map { Bytes($0.raw) })::bytea[], \(ordered.map(\.rowBytes))::bigint[],
                \(ordered.map(\.lineEnd.text))::text[])
                with ordinality as r (file, line, byte_offset, has_column, column_name, has_value,
                    value, sqlstate, message, raw, row_bytes, line_end, n)
            order by r.n
            """
        )
    }
}
