internal import Bulkhead
internal import Postgres

/// Writes rejected rows as they stood in their file, ready to be mended and imported.
struct RawRejects {
    let job: Int64
    /// The one file that is asked for; nil for all.
    let file: String?
    let connection: Connection
    let terminal: Terminal

    /// So many rows are in memory at once, of up to 64 KiB each.
    private static let page = 100

    private struct Source {
        let file: String
        let header: [UInt8]?
        let isConverted: Bool

        /// The header without its line end, which may differ from file to file.
        var names: [UInt8]? {
            header.map { header in
                Array(header.reversed().drop { $0 == 0x0A || $0 == 0x0D }.reversed())
            }
        }
    }

    /// Writes the header, if there is one, and the rows in the order of the files.
    func write() throws -> ExitStatus {
        let sources = try findSources()
        guard let first = sources.first else {
            terminal.note(
                "job \(job) has no rejects" + (file.map { " of a file \($0)" } ?? "")
            )
            return file == nil ? .done : .failed
        }
        guard sources.allSatisfy({ $0.names == first.names }) else {
            let names = sources.map(\.file).joined(separator: ", ")
            Terminal.error(
                "the rejects of job \(job) come from files with different headers (\(names)), which no one file "
                    + "can hold: choose one with --file"
            )
            return .failed
        }
        try noteDifferences(sources)
        if let header = first.header { try terminal.result(bytes: Self.ended(header)) }
        var after: Int64 = 0
        var cut = 0
        while let last = try writePage(after: after, &cut) { after = last }
        guard cut == 0 else {
            Terminal.error("\(cut) rows are too long to be kept whole and were not written")
            return .failed
        }
        return .done
    }

    /// The files that have rejects, in their order.
    private func findSources() throws -> [Source] {
        try connection.transaction { connection in
            let rows = try connection.query(
                """
                select r.file, f.header, coalesce(f.is_converted, false)
                from (select file, min(id) as id from bulkhead.reject
                      where job = \(job) and (\(file)::text is null or file = \(file)::text)
                      group by file) r
                left join bulkhead.reject_file f on f.job = \(job) and f.file = r.file
                order by r.id
                """
            )
            return try (0..<rows.count).map { row in
                Source(
                    file: try rows.required(row, 0),
                    header: try rows.value(row, 1, as: Bytes.self)?.rawValue,
                    isConverted: try rows.required(row, 2)
                )
            }
        }
    }

    /// Says in which ways the rows are to be read differently from the file.
    private func noteDifferences(_ sources: [Source]) throws {
        if sources.contains(where: \.isConverted) {
            terminal.note("the rows are written in UTF-8: import them without --encoding")
        }
        let skip = try connection.transaction { connection in
            let rows = try connection.query(
                "select coalesce((args ->> 'skip')::bigint, 0) from bulkhead.job where id = \(job)"
            )
            return rows.isEmpty ? 0 : try rows.required(0, 0, as: Int64.self)
        }
        if skip > 0 {
            terminal.note(
                "the lines before the header are left out: import the rows without --skip"
            )
        }
    }

    /// - Returns: Where the next page starts; nil when there is none.
    private func writePage(after: Int64, _ cut: inout Int) throws -> Int64? {
        var bytes: [UInt8] = []
        var last: Int64?
        try connection.transaction { connection in
            let rows = try connection.query(
                """
                select id, raw, line_end, row_bytes > octet_length(raw), file, line, row_bytes
                from bulkhead.reject
                where job = \(job) and id > \(after) and (\(file)::text is null or file = \(file)::text)
                order by id limit \(Self.page)
                """
            )
            for row in 0..<rows.count {
                last = try rows.required(row, 0)
                if try rows.required(row, 3) {
                    cut += 1
                    sayCut(
                        try rows.required(row, 4),
                        line: try rows.required(row, 5),
                        size: try rows.required(row, 6)
                    )
                    continue
                }
                let raw = try rows.required(row, 1, as: Bytes.self).rawValue
                bytes += Self.ended(raw + Array(try rows.required(row, 2, as: String.self).utf8))
            }
        }
        try terminal.result(bytes: bytes)
        return last
    }

    private func sayCut(_ file: String, line: Int64, size: Int64) {
        Terminal.error(
            "\(file):\(line): of the \(size) bytes of the row only the first are kept: "
                + "not written, take it from the file"
        )
    }

    /// What stood at the end of its file has no line end, and something may follow it now.
    private static func ended(_ row: [UInt8]) -> [UInt8] {
        row.last == 0x0A || row.last == 0x0D ? row : row + [0x0A]
    }
}
