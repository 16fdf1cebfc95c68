internal import Bulkhead
internal import BulkheadJobs
internal import FoundationEssentials
internal import Postgres

/// What the options of a verb that runs a daemon say about it.
struct WorkerOptions {
    let configuration: DaemonConfiguration
    let log: Logger
    private let importRoot: String

    /// The options that any such verb has.
    static let options: [Option] =
        [
            .value("--workers", "N", "jobs side by side (2)"),
            .value(
                "--queue",
                "NAME[:N]",
                "a queue to serve, with at most N workers (default)",
                repeats: true
            ),
            .value("--import-root", "DIR", "files to import lie below it (the working directory)"),
            .value("--log-format", "FORMAT", "text or json (text)"),
            .value("--log-level", "LEVEL", "debug, info, warning or error (info)"),
        ] + LimitOptions.options

    /// - Parameters:
    ///   - arguments: The words of the command.
    ///   - terminal: Says how much is wanted in the log, and in which form.
    ///   - address: The database.
    /// - Throws: `UsageError`.
    init(_ arguments: Arguments, _ terminal: Terminal, address: DatabaseAddress) throws {
        configuration = try Self.configuration(arguments, address)
        log = Logger(
            level: try arguments.choice("--log-level", of: Logger.Level.self)
                ?? (terminal.isQuiet ? .warning : .info),
            format: try arguments.choice("--log-format", of: Logger.Format.self)
                ?? (terminal.printsJSON ? .json : .text)
        )
        importRoot = try Self.importRoot(arguments)
    }

    /// A daemon for all built-in kinds of job.
    var daemon: Daemon {
        Daemon(
            configuration,
            handlers: [
                ImportHandler(importRoot: importRoot), PurgeHandler(importRoot: importRoot),
                RestoreHandler(importRoot: importRoot), MigrationHandler(),
            ],
            log: log
        )
    }

    private static func importRoot(_ arguments: Arguments) throws -> String {
        let root = arguments.text("--import-root") ?? FileManager.default.currentDirectoryPath
        var isDirectory = false
        guard FileManager.default.fileExists(atPath: root, isDirectory: &isDirectory), isDirectory
        else { throw UsageError("--import-root \(root) is not a directory") }
        return root
    }

    private static func configuration(
        _ arguments: Arguments,
        _ address: DatabaseAddress
    ) throws -> DaemonConfiguration {
        var configuration = DaemonConfiguration(
            address: address,
            host: arguments.text("--host") ?? ProcessInfo.processInfo.hostName
        )
        if let workers = try arguments.number("--workers", in: 1...1000) {
            configuration.workers = workers
        }
        if let queues = arguments.texts("--queue") { configuration.queues = try queues.map(share) }
        configuration.limits = try LimitOptions(arguments).json
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
