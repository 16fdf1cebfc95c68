internal import Postgres

/// Pauses jobs.
enum PauseVerb: Verb {
    static let name = "pause"
    static let summary = "Pause jobs until they are resumed; a running one ends its batch first"
    static let synopsis = "ID..."
    static let options: [Option] = []
    static let example = "bulkhead pause 42"

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        let steering = JobSteering(participle: "paused") {
            "job \($0) is paused, or will be after its batch: bulkhead resume \($0)"
        }
        return try await steering.run(arguments, terminal) { "bulkhead.pause(\($0))" }
    }
}
