public import Bulkhead
internal import Postgres

/// Deletes rows of a table, in committed batches that each walk new ground.
public struct PurgeHandler: JobHandler {
    /// The kind of job.
    public let kind = "purge"

    private let root: ImportRoot

    /// Makes a handler that writes archive files below a directory, and nowhere else.
    public init(importRoot: String) {
        root = ImportRoot(importRoot)
    }

    /// Runs a job.
    public func run(_ context: JobContext) async throws -> JSONText? {
        do {
            let arguments = try PurgeArguments(context.job.args)
            if arguments.dryRun == true {
                return try await PurgeDryRun(context, arguments).run()
            }
            return try await PurgeRun(context, arguments, root).run()
        } catch let error as ReadError {
            throw JobFailure(error.message)
        }
    }
}
