internal import Bulkhead

/// The account of a migration: the `result` of its job.
struct MigrationReport: Codable {
    /// The files that were applied whole, or taken back.
    var files: [String] = []
    /// The steps that were run.
    var steps = 0
    /// The rows that backfills have changed.
    var rows: Int64 = 0

    /// Reads it back; a new one for a job that has not begun.
    init(_ progress: Progress) throws {
        if let text = progress.result { self = try text.decode() }
    }

    /// The same for the engine.
    func stored(total: Int64? = nil) throws -> Progress {
        Progress(
            rowsDone: rows,
            rowsTotal: total.map { max($0, rows) },
            result: try JSONText(encoding: self)
        )
    }
}
