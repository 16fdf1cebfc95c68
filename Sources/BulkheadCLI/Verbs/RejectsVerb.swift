internal import Bulkhead
internal import Postgres

/// Lists the rows that an import could not load.
enum RejectsVerb: Verb {
    static let name = "rejects"
    static let summary = "List the rows that an import could not load, and why"
    static let synopsis = "ID [--raw] [--file FILE]"
    static let options: [Option] = [
        .flag("--raw", "write the rows as they stood in the file, to be mended and imported"),
        .value("--file", "FILE", "only of this file"),
    ]
    static let example = "bulkhead rejects 42 --raw > bad.csv"

    private static let page = 1000

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        let ids = try arguments.jobs()
        guard ids.count == 1 else { throw UsageError("rejects takes one id") }
        let file = arguments.text("--file")
        let isRaw = arguments.has("--raw")
        if isRaw, terminal.printsJSON { throw UsageError("--raw or --json, not both") }
        return try await Database.use(arguments) { connection in
            _ = try JobStatus.find(ids[0], connection)
            if isRaw {
                return try RawRejects(
                    job: ids[0],
                    file: file,
                    connection: connection,
                    terminal: terminal
                ).write()
            }
            var after: Int64 = 0
            while let last = try printPage(
                of: ids[0],
                file,
                after: after,
                connection,
                terminal
            ) {
                after = last
            }
            if after == 0 { terminal.note("job \(ids[0]) has no rejects") }
            return .done
        }
    }

    /// - Returns: Where the next page starts; nil when there is none.
    private static func printPage(
        of job: Int64,
        _ file: String?,
        after: Int64,
        _ connection: Connection,
        _ terminal: Terminal
    ) throws -> Int64? {
        try connection.transaction { connection in
            let rows = try connection.query(
                """
                select id, \(RejectLine.columns),
                    (to_jsonb(r) || jsonb_build_object('raw', encode(r.raw, 'escape')))::text
                from bulkhead.reject r
                where job = \(job) and id > \(after) and (\(file)::text is null or file = \(file)::text)
                order by id limit \(page)
                """
            )
            for row in 0..<rows.count {
                let document: String = try rows.required(row, 7)
                try terminal.result(
                    terminal.printsJSON ? document : RejectLine.text(rows, row, from: 1)
                )
            }
            return rows.isEmpty ? nil : try rows.required(rows.count - 1, 0)
        }
    }
}
