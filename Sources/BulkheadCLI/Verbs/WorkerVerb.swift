internal import Bulkhead
internal import Postgres

/// Runs the daemon.
enum WorkerVerb: Verb {
    static let name = "worker"
    static let summary = "Run the daemon, which works off jobs until it is told to stop"
    static let synopsis = "[--workers N] [--queue NAME[:N]]... [--drain] [--import-root DIR] ..."
    static let options: [Option] =
        WorkerOptions.options + [
            .flag("--drain", "end when nothing is left to run"),
            .value("--grace", "S", "seconds that a batch may still take after SIGTERM (30)"),
            .value("--host", "NAME", "the host whose files it reads (this host's name)"),
            .value("--lease", "S", "seconds without a heartbeat until others take its jobs (15)"),
        ]
    static let example =
        "bulkhead worker --workers 4 --queue default --queue nightly:1 --import-root /srv/incoming"

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        guard arguments.operands.isEmpty else {
            throw UsageError("worker takes no \(arguments.operands[0])")
        }
        let address = try Database.address(arguments)
        let options = try WorkerOptions(arguments, terminal, address: address)
        do {
            try await options.daemon.runUntilSignalled()
        } catch let error as PostgresError where error.kind != .fenced {
            throw NoDatabase("cannot start on \(address): \(error)")
        }
        return .done
    }
}
