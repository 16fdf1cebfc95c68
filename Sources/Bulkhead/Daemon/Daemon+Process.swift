internal import FoundationEssentials
internal import Glibc
internal import Postgres
internal import Signals

extension Daemon {
    /// Runs as the work of a whole process: until SIGTERM or SIGINT, or until nothing is left where it drains.
    ///
    /// The first signal lets each worker finish its batch and hands the rest back; a second one, or a stop
    /// that takes longer than the grace period, ends the process. A closed terminal does not. systemd hears
    /// when the daemon is ready.
    ///
    /// - Parameter endsWithTerminal: Whether SIGHUP stops it as well.
    /// - Throws: When it cannot start: no server, no schema, a pooler in transaction mode.
    public func runUntilSignalled(endsWithTerminal: Bool = false) async throws {
        if !endsWithTerminal { signal(SIGHUP, SIG_IGN) }
        let signals = [SIGTERM, SIGINT] + (endsWithTerminal ? [SIGHUP] : [])
        StopSignals.heed(signals, grace: grace, log: log) { self.stop() }
        try await run(ready: { [log] in ServiceManager.notifyReady(log: log) })
    }

    /// The main function of a program that is a daemon: runs it until it is told to stop, and ends the process.
    ///
    /// For example:
    ///
    ///     @main struct Main {
    ///         static func main() async {
    ///             await Daemon.main([RefreshHandler()]) { $0.workers = 4 }
    ///         }
    ///     }
    ///
    /// The exit status is 0 after a stop, 1 for a failure, and 3 when there is no database to be reached or no
    /// schema in it.
    ///
    /// - Parameters:
    ///   - handlers: One for each kind of job that it runs.
    ///   - log: Where it writes its log.
    ///   - configure: Changes the usual settings, in which the database is that of the environment.
    public static func main(
        _ handlers: [any JobHandler],
        log: Logger = Logger(),
        configure: (inout DaemonConfiguration) throws -> Void = { _ in }
    ) async -> Never {
        SignalWatch.unblock()
        signal(SIGPIPE, SIG_IGN)
        do {
            var configuration = try DaemonConfiguration()
            try configure(&configuration)
            try await Daemon(configuration, handlers: handlers, log: log).runUntilSignalled()
            exit(0)
        } catch {
            log.error("cannot run", ["error": "\(error)"])
            let isAbsent =
                error is InstallationError || (error as? PostgresError)?.kind == .unavailable
            exit(isAbsent ? 3 : 1)
        }
    }
}
