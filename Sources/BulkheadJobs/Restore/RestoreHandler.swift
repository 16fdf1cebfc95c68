public import Bulkhead
internal import Postgres

/// Brings back what a purge archived, batch after batch, the last one first.
public struct RestoreHandler: JobHandler {
    /// The kind of job.
    public let kind = "restore"

    private let root: ImportRoot

    /// Makes a handler that reads archive files below a directory, and nothing outside it.
    public init(importRoot: String) {
        root = ImportRoot(importRoot)
    }

    /// Runs a job.
    public func run(_ context: JobContext) async throws -> JSONText? {
        do {
            return try await RestoreRun(context, root).run()
        } catch let error as ReadError {
            throw JobFailure(error.message)
        }
    }
}
