public import Bulkhead

/// Applies migration files, step by step, one migration at a time for a database.
public struct MigrationHandler: JobHandler {
    /// The kind of job.
    public let kind = "migration"

    /// Makes a handler; it needs no files, since their texts are in the job.
    public init() {}

    /// Runs a job.
    public func run(_ context: JobContext) async throws -> JSONText? {
        do {
            return try await MigrationRun(context, MigrationArguments(context.job.args)).run()
        } catch let error as MigrationError {
            throw JobFailure(error.message, position: error.position)
        }
    }
}
