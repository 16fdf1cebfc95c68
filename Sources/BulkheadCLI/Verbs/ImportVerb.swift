internal import Bulkhead
internal import FoundationEssentials
internal import Postgres

/// Enqueues an import.
enum ImportVerb: Verb {
    static let name = "import"
    static let summary = "Import files into a table, in committed batches"
    static let synopsis = "TABLE FILE... [options]"
    static let options: [Option] =
        [
            .value(
                "--format",
                "FORMAT",
                "csv, tsv or jsonl (by the names: .tsv, .jsonl, .ndjson, also with .gz; else csv)"
            ),
            .value("--delimiter", "C", "between fields (a comma; a tab for tsv)"),
            .value("--quote", "C", "around fields (\")"),
            .value(
                "--escape",
                "C",
                "inside quotes, before the quote or itself; else a doubled quote is one"
            ),
            .value("--null", "TEXT", "an unquoted field that means NULL (empty)", repeats: true),
            .value(
                "--encoding",
                "NAME",
                "of the files, as PostgreSQL or iconv names it (UTF-8; UTF-16 by its mark)"
            ),
            .value("--skip", "N", "physical lines before the header"),
            .flag("--no-header", "the first line is data"),
            .value(
                "--columns",
                "A,B,C",
                "the file's columns by position; a header is then skipped"
            ),
            .value(
                "--map",
                "FILE_NAME=COLUMN",
                "load a file's column into this one; nothing behind = drops it",
                repeats: true
            ),
            .value("--key", "A,B", "the columns that decide a conflict (the primary key)"),
            .value(
                "--on-conflict",
                "POLICY",
                "error, skip, fill, update or replace the stored row (error)"
            ),
            .value("--max-rejects", "N", "bad rows to put aside before the job fails (0)"),
            .value(
                "--max-row-bytes",
                "N",
                "a longer row is a bad one (67108864)"
            ),
            .value("--batch", "N", "rows in a batch (chosen so that one takes 250 ms)"),
            .value("--timezone", "ZONE", "of times that name none (UTC)"),
            .value("--date-order", "ORDER", "ymd, dmy or mdy: how 01/02/03 is meant (ymd)"),
            .flag("--atomic", "all files in one transaction: every row is loaded or none"),
            .flag(
                "--dry-run",
                "wait for a run through every check that changes nothing; show what it found"
            ),
        ] + Option.enqueue
    static let example = "bulkhead import public.flights flights.csv.gz --null NA --wait"

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        guard let table = arguments.operands.first, arguments.operands.count > 1 else {
            throw UsageError("import needs a table and at least one file")
        }
        guard !arguments.operands.contains("") else {
            throw UsageError("the name of a table or file is empty")
        }
        let call = try statement(
            arguments,
            table: table,
            files: Array(arguments.operands.dropFirst())
        )
        return try await Database.use(arguments) { connection in
            let job = try Enqueued.add(call, connection)
            return try await Enqueued(job, connection, arguments, terminal).finish()
        }
    }

    private static func statement(_ arguments: Arguments, table: String, files: [String]) throws
        -> SQL
    {
        """
        select bulkhead.import(\(table)::text, \(files.map(absolute))::text[],
            format => \(arguments.text("--format")),
            delimiter => \(arguments.text("--delimiter")), quote => \(arguments.text("--quote")),
            escape => \(arguments.text("--escape")), null_text => \(arguments.texts("--null")),
            skip => \(try arguments.number("--skip", in: 0...Int(Int32.max))),
            header => \(arguments.has("--no-header") ? false : nil as Bool?),
            columns => \(try arguments.list("--columns")), map => \(try map(arguments)),
            key => \(try arguments.list("--key")), on_conflict => \(arguments.text("--on-conflict")),
            max_rejects => \(try arguments.number("--max-rejects", in: 0...Int.max)),
            batch => \(try arguments.number("--batch", in: 1...1_000_000)),
            encoding => \(arguments.text("--encoding")),
            max_row_bytes => \(try arguments.number("--max-row-bytes", in: 1...1 << 30)),
            timezone => \(arguments.text("--timezone")), date_order => \(arguments.text("--date-order")),
            atomic => \(arguments.has("--atomic") ? true : nil as Bool?),
            dry_run => \(arguments.has("--dry-run") ? true : nil as Bool?),
            \(try EnqueueOptions(arguments).sql))
        """
    }

    /// The daemon does not know in which directory the command was typed.
    private static func absolute(_ file: String) -> String {
        file.hasPrefix("/") ? file : FileManager.default.currentDirectoryPath + "/" + file
    }

    private static func map(_ arguments: Arguments) throws -> JSONText? {
        guard let pairs = arguments.texts("--map") else { return nil }
        var map: [String: String] = [:]
        for pair in pairs {
            // The last =, since names in files hold all kinds of signs, and columns hardly ever do.
            guard let equals = pair.lastIndex(of: "=") else {
                throw UsageError("--map takes FILE_NAME=COLUMN, not \(pair)")
            }
            let name = String(pair[..<equals])
            if map.updateValue(String(pair[pair.index(after: equals)...]), forKey: name) != nil {
                throw UsageError("--map names \(name) twice")
            }
        }
        return try JSONText(encoding: map)
    }
}
