/// Runs the jobs of one kind.
///
/// For example, a handler that refreshes a materialized view:
///
///     struct RefreshHandler: JobHandler {
///         let kind = "refresh"
///
///         func run(_ context: JobContext) async throws -> JSONText? {
///             try await context.batch { batch in
///                 try batch.connection.query("refresh materialized view concurrently report.daily")
///                 return context.progress
///             }
///             return nil
///         }
///     }
public protocol JobHandler: Sendable {
    /// The kind of job that it runs.
    var kind: String { get }

    /// Whether such a job takes milliseconds, so that a worker may be given up to 100 at once.
    var isSmall: Bool { get }

    /// Runs a job on the worker's own thread, in committed batches.
    ///
    /// - Parameter context: The job, and what it needs to run.
    /// - Returns: The job's result, a JSON object; nil leaves what the last batch wrote.
    /// - Throws: `JobFailure` when trying again does not help. A `PostgresError` is judged by its kind;
    ///   any other error is tried again later.
    func run(_ context: JobContext) async throws -> JSONText?
}

extension JobHandler {
    /// False unless the handler says otherwise.
    public var isSmall: Bool { false }
}
