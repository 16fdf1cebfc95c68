internal import Postgres

/// The process that works off jobs: a scheduler, its workers, a heartbeat, maintenance, a governor and
/// a bell.
public final class Daemon: Sendable {
    let log: Logger
    private let configuration: DaemonConfiguration
    private let incarnation = Incarnation()
    private let heartbeat: Heartbeat
    private let maintenance: Maintenance
    private let governor: Governor
    private let bell: Bell
    private let scheduler: Scheduler

    /// Makes a daemon with one handler for each kind of job that it runs.
    public init(_ configuration: DaemonConfiguration, handlers: [any JobHandler], log: Logger) {
        self.configuration = configuration
        self.log = log
        let running = RunningJobs()
        let gauges = Gauges()
        let byKind = Dictionary(
            handlers.map { ($0.kind, $0) },
            uniquingKeysWith: { _, last in last }
        )
        heartbeat = Heartbeat(
            configuration: configuration,
            incarnation: incarnation,
            kinds: byKind.keys.sorted(),
            running: running,
            log: log
        )
        maintenance = Maintenance(configuration: configuration, log: log)
        governor = Governor(
            configuration: configuration,
            incarnation: incarnation,
            running: running,
            gauges: gauges,
            log: log
        )
        bell = Bell(address: configuration.address, log: log)
        scheduler = Scheduler(
            configuration: configuration,
            incarnation: incarnation,
            handlers: byKind,
            running: running,
            gauges: gauges,
            log: log
        )
    }

    var grace: Duration { configuration.grace }

    /// Works until `stop()` or, where it drains, until nothing is left to run.
    ///
    /// - Parameter ready: Called once, when the daemon takes jobs.
    /// - Throws: When it cannot start: no server, no schema, a pooler in transaction mode. Once it runs,
    ///   it waits for a server that goes away.
    public func run(ready: @Sendable () -> Void = {}) async throws {
        try await heartbeat.start()
        await withDiscardingTaskGroup { group in
            group.addTask(executorPreference: heartbeat.thread) { await self.heartbeat.run() }
            group.addTask(executorPreference: maintenance.thread) { await self.maintenance.run() }
            group.addTask(executorPreference: governor.thread) { await self.governor.run() }
            group.addTask(executorPreference: bell.thread) { await self.bell.run() }
            log.info(
                "ready",
                [
                    "version": Release.version, "daemon": incarnation.id,
                    "host": configuration.host,
                    "workers": "\(configuration.workers)",
                    "queues": configuration.queues.map(\.name).joined(separator: ","),
                    "database": configuration.address.description,
                ]
            )
            ready()
            await scheduler.run()
            await bell.stop()
            await governor.stop()
            await maintenance.stop()
            await heartbeat.stop()
        }
        log.info("stopped")
    }

    /// Stops claiming, lets each worker finish its batch, and hands the rest back.
    public func stop() {
        scheduler.stop()
    }
}
