internal import Postgres

/// Runs claimed jobs one at a time, with a connection and a thread of its own.
actor Worker {
    nonisolated let number: Int
    nonisolated let thread: ExecutorThread
    nonisolated let unownedExecutor: UnownedSerialExecutor

    private let configuration: DaemonConfiguration
    private let handlers: [String: any JobHandler]
    private let running: RunningJobs
    private let gauges: Gauges
    private let log: Logger
    private let canceller = Canceller()
    /// Kept open for small jobs; any other job has one of its own, so that it leaves nothing behind.
    private var sharedSession: Session?
    private lazy var outcomes = OutcomeWriter(thread: thread, running: running, log: log)

    init(
        number: Int,
        configuration: DaemonConfiguration,
        handlers: [String: any JobHandler],
        running: RunningJobs,
        gauges: Gauges,
        log: Logger
    ) {
        self.number = number
        self.configuration = configuration
        self.handlers = handlers
        self.running = running
        self.gauges = gauges
        self.log = log.with("worker", number)
        thread = ExecutorThread(name: "bulkhead-w\(number)")
        unownedExecutor = thread.asUnownedSerialExecutor()
    }

    deinit {
        thread.stop()
    }

    /// Runs the jobs of one claim, one after another.
    func run(_ jobs: [Job], daemon: String) async {
        let controls = jobs.map { job in
            let control = JobControl(canceller: canceller, thread: thread, limits: job.limits)
            running.add(control, for: job)
            return control
        }
        for (job, control) in zip(jobs, controls) {
            if handlers[job.kind]?.isSmall == true {
                await runSmall(job, control, daemon: daemon)
            } else {
                await runAlone(job, control, daemon: daemon)
            }
            running.remove(job)
        }
        if let sharedSession { await outcomes.flush(daemon: daemon, session: sharedSession) }
    }

    private func runSmall(_ job: Job, _ control: JobControl, daemon: String) async {
        let session =
            sharedSession
            ?? Self.session("bulkhead worker \(number)", canceller, configuration)
        sharedSession = session
        let log = log.with("job", job.id).with("kind", job.kind)
        let context = context(for: job, control, daemon: daemon, session: session, log: log)
        let outcome = await outcome(of: context, control)
        if case .completed(nil) = outcome, context.batches == job.batches, job.attempt == 1 {
            await outcomes.complete(job, daemon: daemon, session: session)
        } else {
            await end(outcome, of: job, daemon: daemon, session: session, log: log)
        }
    }

    private func runAlone(_ job: Job, _ control: JobControl, daemon: String) async {
        let session = Self.session(
            "bulkhead worker \(number): \(job.kind) \(job.id)",
            canceller,
            configuration
        )
        let log = log.with("job", job.id).with("kind", job.kind)
        let context = context(for: job, control, daemon: daemon, session: session, log: log)
        log.info("job started", ["attempt": "\(job.attempt)"])
        let outcome = await outcome(of: context, control)
        await end(outcome, of: job, daemon: daemon, session: session, log: log)
    }

    private func context(
        for job: Job,
        _ control: JobControl,
        daemon: String,
        session: Session,
        log: Logger
    ) -> JobContext {
        JobContext(
            job: job,
            daemon: daemon,
            log: log,
            session: session,
            makeSession: { [configuration, number] in
                let name = "bulkhead worker \(number) beside: \(job.kind) \(job.id)"
                return Self.session(name, Canceller(), configuration)
            },
            control: control,
            gauges: gauges,
            thread: thread,
            patience: configuration.patience
        )
    }

    private func outcome(of context: JobContext, _ control: JobControl) async -> Outcome {
        guard let handler = handlers[context.job.kind] else {
            return .failed(
                JobFailure("this daemon has no handler for jobs of kind \(context.job.kind)")
            )
        }
        control.activate()
        defer { control.deactivate() }
        do {
            try context.checkInterruption()
            return .completed(try await handler.run(context))
        } catch {
            return Outcome(error, interruption: control.interruption)
        }
    }

    private func end(
        _ outcome: Outcome,
        of job: Job,
        daemon: String,
        session: Session,
        log: Logger
    ) async {
        guard let state = await outcomes.write(outcome, of: job, daemon: daemon, session: session)
        else {
            log.warning("job left: another daemon has it, or will")
            return
        }
        let line = log.with("state", state)
        if let failure = outcome.failure {
            state == "discarded"
                ? line.error("job failed", ["error": failure.message])
                : line.warning("job will be tried again", ["error": failure.message])
        } else {
            line.info("job ended")
        }
    }

    private static func session(
        _ name: String,
        _ canceller: Canceller,
        _ configuration: DaemonConfiguration
    ) -> Session {
        Session(
            configuration.address,
            SessionSettings(
                applicationName: name,
                lockTimeout: .seconds(2),
                idleInTransactionTimeout: .seconds(60)
            ),
            canceller: canceller,
            waitsForServer: true
        )
    }
}
