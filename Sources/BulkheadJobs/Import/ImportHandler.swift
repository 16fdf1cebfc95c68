public import Bulkhead
internal import Postgres

/// Imports files into a table, in committed batches.
public struct ImportHandler: JobHandler {
    /// The kind of job.
    public let kind = "import"

    private let root: ImportRoot

    /// A batch is closed once it holds this many bytes of the file, so that memory stays flat.
    private static let batchBytes = 4 << 20

    /// Makes a handler that reads files below a directory, and nothing outside it.
    public init(importRoot: String) {
        root = ImportRoot(importRoot)
    }

    /// Runs a job.
    public func run(_ context: JobContext) async throws -> JSONText? {
        do {
            let run = try ImportRun(context, root: root, batchBytes: Self.batchBytes)
            return try await run.run()
        } catch let error as ReadError {
            throw JobFailure(error.message)
        }
    }
}
