internal import Postgres

/// Lets paused jobs go on.
enum ResumeVerb: Verb {
    static let name = "resume"
    static let summary = "Let paused jobs go on from where they stopped"
    static let synopsis = "ID..."
    static let options: [Option] = []
    static let example = "bulkhead resume 42"

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        let steering = JobSteering(participle: "resumed") { "job \($0) goes on" }
        return try await steering.run(arguments, terminal) { "bulkhead.resume(\($0))" }
    }
}
