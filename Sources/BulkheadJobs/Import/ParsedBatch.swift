/// The rows of one batch, read and encoded, ready for the server.
struct ParsedBatch: Sendable {
    /// The good rows, as lines of COPY's text format.
    var text: [UInt8] = []
    /// The good rows as they stand in the file, without line ends.
    var raw: [UInt8] = []
    var rows: [ReadRow] = []
    /// Whether any good row says nothing of a column.
    var hasMissing = false
    /// Rows that could not even be read.
    var rejects: [Reject] = []
    /// The good rows' keys; nil when the server must be asked.
    var ids: FeedIDs?
    /// Where the next batch starts.
    var end: ReadPosition = .start
    /// Whether this is the file's last batch.
    var isLast = false
    /// The share of the file that has been read, from 0 to 1.
    var share = 0.0

    /// Where a good row lies.
    struct ReadRow: Sendable {
        let line: Int64
        let offset: Int64
        let textEnd: Int
        let rawEnd: Int
        let lineEnd: LineEnd
        /// The positions of the columns that it says nothing of, ascending; they stand as NULL in its text.
        var missing: [UInt16] = []
    }

    /// An empty batch.
    init() {}

    /// A batch with room for so much, since an array that grows takes up to twice what it holds.
    init(rows: Int, bytes: Int) {
        let expected = min(bytes, rows * 256)
        text.reserveCapacity(expected + expected / 8)
        raw.reserveCapacity(expected + expected / 8)
        self.rows.reserveCapacity(min(rows, expected / 32))
    }

    /// Adds a good row, whose text has been written.
    mutating func append(_ record: borrowing Record, missing: [UInt16]) {
        raw += record.bytes
        rows.append(
            ReadRow(
                line: record.line,
                offset: record.offset,
                textEnd: text.count,
                rawEnd: raw.count,
                lineEnd: record.lineEnd,
                missing: missing
            )
        )
        if !missing.isEmpty { hasMissing = true }
    }

    /// The rows that were read, good or bad.
    var count: Int { rows.count + rejects.count }

    func text(of row: Int) -> ArraySlice<UInt8> {
        text[(row == 0 ? 0 : rows[row - 1].textEnd)..<rows[row].textEnd]
    }

    /// The good rows but some, as lines of COPY's text format.
    func text(without refused: Set<Int>) -> [UInt8] {
        guard !refused.isEmpty else { return text }
        var kept: [UInt8] = []
        kept.reserveCapacity(text.count)
        var start = 0
        for row in refused.sorted() {
            kept += text[start..<(row == 0 ? 0 : rows[row - 1].textEnd)]
            start = rows[row].textEnd
        }
        return kept + text[start...]
    }

    func raw(of row: Int) -> ArraySlice<UInt8> {
        raw[(row == 0 ? 0 : rows[row - 1].rawEnd)..<rows[row].rawEnd]
    }

    /// What a good row says in its nth loaded column; nil for NULL.
    func value(of row: Int, column: Int) -> [UInt8]? {
        field(column, of: row).flatMap(unescaped)
    }

    /// What a good row says in its loaded columns.
    func values(of row: Int) -> [[UInt8]?] {
        fields(of: row).map(unescaped)
    }

    /// The greatest value of a column in all rows but some, that hold nothing but plain integers; nil when
    /// one holds anything else.
    func greatestInteger(in column: Int, without refused: Set<Int>) -> Int64? {
        var greatest: Int64?
        for row in rows.indices where !refused.contains(row) {
            guard let field = field(column, of: row), (1...18).contains(field.count),
                let value = Int64(String(decoding: field, as: UTF8.self))
            else { return nil }
            greatest = max(greatest ?? value, value)
        }
        return greatest
    }

    /// A field of a good row, as COPY's text format has it: tabs within values are escaped.
    private func field(_ column: Int, of row: Int) -> ArraySlice<UInt8>? {
        var rest = text(of: row).dropLast()
        for _ in 0..<column {
            guard let tab = rest.firstIndex(of: Byte.tab) else { return nil }
            rest = rest[(tab + 1)...]
        }
        return rest.prefix { $0 != Byte.tab }
    }

    private func fields(of row: Int) -> [ArraySlice<UInt8>] {
        text(of: row).dropLast().split(separator: Byte.tab, omittingEmptySubsequences: false)
    }

    private func unescaped(_ field: ArraySlice<UInt8>) -> [UInt8]? {
        if field.elementsEqual("\\N".utf8) { return nil }
        var value: [UInt8] = []
        var isEscaped = false
        for byte in field {
            if !isEscaped, byte == Byte.backslash {
                isEscaped = true
                continue
            }
            value.append(isEscaped ? control(byte) : byte)
            isEscaped = false
        }
        return value
    }

    private func control(_ letter: UInt8) -> UInt8 {
        switch letter {
        case UInt8(ascii: "b"): Byte.backspace
        case UInt8(ascii: "t"): Byte.tab
        case UInt8(ascii: "n"): Byte.lineFeed
        case UInt8(ascii: "v"): Byte.verticalTab
        case UInt8(ascii: "f"): Byte.formFeed
        case UInt8(ascii: "r"): Byte.carriageReturn
        default: letter
        }
    }
}
