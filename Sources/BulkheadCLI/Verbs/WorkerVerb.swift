internal import Bulkhead
internal import BulkheadJobs
internal import FoundationEssentials
internal import Postgres

/// Runs the daemon.
enum WorkerVerb: Verb {
    static let name = "worker"
    static let summary = "Run the daemon, which works off jobs until it is told to stop"
    static let synopsis = "[--workers N] [--queue NAME[:N]]... [--drain] [--import-root DIR] ..."
    static let options: [Option] = [
        .value("--workers", "N", "jobs side by side (2)"),
        .value(
            "--queue",
            "NAME[:N]",
            "a queue to serve, with at most N workers (default)",
            repeats: true
        ),
        .flag("--drain", "end when nothing is left to run"),
        .value("--grace", "S", "seconds that a batch may still take after SIGTERM (30)"),
        .value("--import-root", "DIR", "files to import lie below it (the working directory)"),
        .value("--host", "NAME", "the host whose files it reads (this host's name)"),
        .value("--lease", "S", "seconds without a heartbeat until others take its jobs (15)"),
        .value("--log-format", "FORMAT", "text or json (text)"),
        .value("--log-level", "LEVEL", "debug, info, warning or error (info)"),
    ]
    static let example =
        "bulkhead worker --workers 4 --queue default --queue nightly:1 --import-root /srv/incoming"

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        guard arguments.operands.isEmpty else {
            throw UsageError("worker takes no \(arguments.operands[0])")
        }
        let configuration = try configuration(arguments)
        let root = arguments.text("--import-root") ?? FileManager.default.currentDirectoryPath
        var isDirectory = false
        guard FileManager.default.fileExists(atPath: root, isDirectory: &isDirectory), isDirectory
        else { throw UsageError("--import-root \(root) is not a directory") }
        let log = Logger(
            level: try arguments.choice("--log-level", of: Logger.Level.self)
                ?? (terminal.isQuiet ? .warning : .info),
            format: try arguments.choice("--log-format", of: Logger.Format.self)
                ?? (terminal.printsJSON ? .json : .text)
        )
        let daemon = Daemon(configuration, handlers: [ImportHandler(importRoot: root)], log: log)
        StopSignals.heed(grace: configuration.grace, log: log) { daemon.stop() }
        do {
            try await daemon.run(ready: { ServiceManager.notifyReady(log: log) })
        } catch let error as PostgresError where error.kind != .fenced {
            throw NoDatabase("cannot start on \(configuration.address): \(error)")
        }
        return .done
    }

    private static func configuration(_ arguments: Arguments) throws -> DaemonConfiguration {
        var configuration = DaemonConfiguration(
            address: try Database.address(arguments),
            host: arguments.text("--host") ?? ProcessInfo.processInfo.hostName
        )
        if let workers = try arguments.number("--workers", in: 1...1000) {
            configuration.workers = workers
        }
        if let queues = arguments.texts("--queue") { configuration.queues = try queues.map(share) }
        configuration.drains = arguments.has("--drain")
        if let grace = try arguments.seconds("--grace") { configuration.grace = grace }
        if let lease = try arguments.seconds("--lease") {
            guard lease >= .seconds(1) else { throw UsageError("--lease takes at least 1 second") }
            configuration.lease = lease
        }
        return configuration
    }

    private static func share(_ text: String) throws -> DaemonConfiguration.QueueShare {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        guard !name.isEmpty else { throw UsageError("--queue needs a name") }
        guard parts.count == 2 else { return DaemonConfiguration.QueueShare(name: name) }
        guard let limit = Int(parts[1]), limit > 0 else {
            throw UsageError("--queue \(text): after the colon comes a number of workers")
        }
        return DaemonConfiguration.QueueShare(name: name, limit: limit)
    }
}
