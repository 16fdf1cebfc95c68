internal import Postgres

/// Runs jobs again.
enum RetryVerb: Verb {
    static let name = "retry"
    static let summary = "Run jobs again that failed, were cancelled or wait for their next attempt"
    static let synopsis = "ID... [--from-start] [--max-rejects N]"
    static let options: [Option] = [
        .flag("--from-start", "begin anew instead of going on from the last committed batch"),
        .value("--max-rejects", "N", "bad rows to put aside before an import fails, from now on"),
    ]
    static let example = "bulkhead retry 42 --max-rejects 100"

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        let isFromStart = arguments.has("--from-start")
        let maxRejects = try arguments.number("--max-rejects", in: 0...Int.max)
        let steering = JobSteering(participle: "retried") {
            "job \($0) runs again\(isFromStart ? " from the start" : "")"
        }
        return try await steering.run(arguments, terminal) {
            "bulkhead.retry(\($0), from_start => \(isFromStart), max_rejects => \(maxRejects))"
        }
    }
}
