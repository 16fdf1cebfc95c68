internal import Postgres

/// Cancels jobs.
enum CancelVerb: Verb {
    static let name = "cancel"
    static let summary = "Cancel jobs; committed batches stay"
    static let synopsis = "ID..."
    static let options: [Option] = []
    static let example = "bulkhead cancel 42"

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        let steering = JobSteering(participle: "cancelled") {
            "job \($0) is cancelled, or will be in a moment"
        }
        return try await steering.run(arguments, terminal) { "bulkhead.cancel(\($0))" }
    }
}
