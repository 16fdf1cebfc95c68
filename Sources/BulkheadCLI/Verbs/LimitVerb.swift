internal import Postgres

/// Changes what jobs heed.
enum LimitVerb: Verb {
    static let name = "limit"
    static let summary = "Change the limits of jobs, running ones too; off takes one away"
    static let synopsis = "ID... [options]"
    static let options = LimitOptions.options
    static let example = "bulkhead limit 42 --nice 2 --max-replica-lag off"

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        guard let limits = try LimitOptions(arguments).json else {
            throw UsageError("limit needs an option that says what to change")
        }
        let steering = JobSteering(participle: "limited") {
            "job \($0) heeds its new limits, or will in a moment"
        }
        return try await steering.run(arguments, terminal) {
            "bulkhead.limit_job(\($0), \(limits))"
        }
    }
}
