internal import Bulkhead
internal import Postgres

extension ArchiveFile {
    /// Runs a statement whose rows go into the file, with a JSON document behind them.
    ///
    /// `commonTables` is the statement up to its last SELECT; its part named `rows` has the rows.
    ///
    /// - Returns: The document.
    /// - Throws: What the server or the disk says.
    func copy(
        _ commonTables: String,
        rows: String,
        _ columns: [ArchivedColumn],
        summary: String,
        _ connection: Connection
    ) throws -> JSONText {
        let statement = """
            copy (
                \(commonTables)
                select 'r', \(columns.jsonLine("t")) from \(rows) t
                union all select 's', (\(summary))::text
            ) to stdout
            """
        var document: JSONText?
        try connection.copyOut(SQL(unsafe: statement)) { line in
            let json = unescaped(line.dropFirst(2).dropLast())
            if line.first == UInt8(ascii: "r") {
                try append(json + [UInt8(ascii: "\n")])
            } else {
                document = JSONText(String(decoding: json, as: UTF8.self))
            }
        }
        guard let document else {
            throw JobFailure("the server did not say what became of the batch")
        }
        return document
    }

    /// JSON holds no other sign that COPY escapes.
    private func unescaped(_ bytes: Slice<UnsafeRawBufferPointer>) -> [UInt8] {
        var plain: [UInt8] = []
        plain.reserveCapacity(bytes.count + 1)
        var isEscaped = false
        for byte in bytes {
            if byte == UInt8(ascii: "\\"), !isEscaped {
                isEscaped = true
                continue
            }
            isEscaped = false
            plain.append(byte)
        }
        return plain
    }
}
