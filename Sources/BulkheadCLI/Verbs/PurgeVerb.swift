internal import FoundationEssentials
internal import Postgres

/// Enqueues a purge.
enum PurgeVerb: Verb {
    static let name = "purge"
    static let summary = "Delete rows from a table, in committed batches that nobody notices"
    static let synopsis = "TABLE (--where SQL | --column C --older-than INTERVAL | --all) [options]"
    static let options: [Option] =
        [
            .value("--where", "SQL", "the rows to delete: what would follow WHERE, and no more"),
            .value("--column", "C", "a column of a date or time, with --older-than"),
            .value("--older-than", "INTERVAL", "delete rows older than this, such as '90 days'"),
            .flag("--all", "every row, on purpose"),
            .value("--timezone", "ZONE", "of a column that names none, with --older-than (UTC)"),
            .value(
                "--archive",
                "TABLE|FILE",
                "copy the rows first: into a table, or into files FILE.jsonl.gz"
            ),
            .value("--limit", "N", "delete no more than this many rows"),
            .value("--batch", "N", "rows in a batch (chosen so that one takes 250 ms)"),
            .flag("--drop-partitions", "drop partitions whole where all of their rows are meant"),
            .flag("--force", "even where tables that refer to the rows have no index for it"),
            .flag("--vacuum", "VACUUM (ANALYZE) the table as the last step"),
            .flag("--dry-run", "wait for a run that deletes nothing; show what it would do"),
        ] + Option.enqueue
    static let example =
        "bulkhead purge public.flights --column time_hour --older-than '2 years' --wait"

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        guard let table = arguments.operands.first, arguments.operands.count == 1 else {
            throw UsageError("purge takes one table")
        }
        let call = try statement(arguments, table: table)
        return try await Database.use(arguments) { connection in
            let job = try Enqueued.add(call, connection)
            return try await Enqueued(job, connection, arguments, terminal).finish()
        }
    }

    private static func statement(_ arguments: Arguments, table: String) throws -> SQL {
        """
        select bulkhead.purge(\(table)::text, condition => \(arguments.text("--where")),
            column_name => \(arguments.text("--column")), older_than => \(arguments.text("--older-than")),
            all_rows => \(flag("--all", arguments)), archive => \(arguments.text("--archive").map(absolute)),
            max_rows => \(try arguments.number("--limit", in: 1...Int.max)),
            batch => \(try arguments.number("--batch", in: 1...1_000_000)),
            force => \(flag("--force", arguments)), drop_partitions => \(flag("--drop-partitions", arguments)),
            vacuum => \(flag("--vacuum", arguments)), timezone => \(arguments.text("--timezone")),
            dry_run => \(flag("--dry-run", arguments)), \(try EnqueueOptions(arguments).sql))
        """
    }

    private static func flag(_ name: String, _ arguments: Arguments) -> Bool? {
        arguments.has(name) ? true : nil
    }

    /// The daemon does not know in which directory the command was typed.
    private static func absolute(_ archive: String) -> String {
        guard archive.hasSuffix(".jsonl.gz"), !archive.hasPrefix("/") else { return archive }
        return FileManager.default.currentDirectoryPath + "/" + archive
    }
}
