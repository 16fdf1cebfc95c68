internal import Bulkhead

/// Tells what a purge would do.
struct PurgeDryRun {
    init(_ context: JobContext, _ arguments: PurgeArguments) {}
    func run() async throws -> JSONText? { nil }
}
