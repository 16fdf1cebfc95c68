internal import Dispatch
internal import Postgres

/// What others ask of one claimed job.
///
/// It is read at batch boundaries, and reaches a running statement.
final class JobControl: Sendable {
    private let canceller: Canceller
    private let thread: ExecutorThread
    private let request = Lock<JobInterruption?>(nil)
    private let isActive = Lock(false)
    private let presentLimits: Lock<JobLimits>
    private let seenBlocker = Lock<String?>(nil)

    init(canceller: Canceller, thread: ExecutorThread, limits: JobLimits = JobLimits()) {
        self.canceller = canceller
        self.thread = thread
        presentLimits = Lock(limits)
    }

    /// What the job heeds, as it is by now.
    var limits: JobLimits {
        get { presentLimits.withLock { $0 } }
        set { presentLimits.withLock { $0 = newValue } }
    }

    /// Why the job should stop, if it should.
    var interruption: JobInterruption? {
        request.withLock { $0 }
    }

    /// Notes which lock the job's statement was seen to wait for.
    func isBlocked(by lock: String) {
        seenBlocker.withLock { $0 = lock }
    }

    /// The lock that was seen last; it is told once.
    func takeBlocker() -> String? {
        seenBlocker.withLock { $0.take() }
    }

    /// Asks the job to stop after the batch that it is in.
    func stopAfterBatch(_ interruption: JobInterruption) {
        request.withLock { $0 = $0 ?? interruption }
        thread.wake()
    }

    /// Withdraws a request to pause that the job has not followed yet.
    func goOn() {
        request.withLock { if $0 == .paused { $0 = nil } }
    }

    /// Asks the job to stop at once: what it is doing is cancelled and rolled back.
    func stopNow(_ interruption: JobInterruption) {
        request.withLock { present in
            // A lost job must not be written to, whatever else was asked.
            if present != .lost { present = interruption }
        }
        thread.wake()
        // Telling the server blocks, and the caller may be the heartbeat.
        DispatchQueue.global().async { [self] in
            isActive.withLock { if $0 { canceller.cancel() } }
        }
    }

    /// From here on the worker's connection runs this job's statements.
    func activate() {
        isActive.withLock {
            canceller.reset()
            $0 = true
        }
    }

    /// The job's statements are done; waits for a cancel that is under way.
    func deactivate() {
        isActive.withLock {
            $0 = false
            canceller.reset()
        }
    }
}
