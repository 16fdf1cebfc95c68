internal import CLibPQ
internal import Glibc

/// A thread that runs its owner's jobs one after another, and waits for a socket or a deadline in between.
///
/// It is the executor of an actor that owns a `Connection`: a blocking libpq call then holds this thread
/// and never one of the shared pool. As a task executor it also runs the nonisolated code that such an
/// actor calls.
public final class ExecutorThread: SerialExecutor, TaskExecutor, @unchecked Sendable {
    // Safe: `shared` is behind its lock; `doorbell` never changes.
    private let shared: Lock<Shared>
    private let doorbell: Int32

    private struct Shared {
        var jobs: [UnownedJob] = []
        var thread: pthread_t?
        var isPolling = false
        var isWoken = false
        var waits: [Wait] = []
        var nextWait: UInt64 = 0
        var cancelledWaits: Set<UInt64> = []
        var isStopping = false

        /// Takes out the waits that end now.
        mutating func take(where ends: (Wait) -> Bool) -> [Wait] {
            let taken = waits.filter(ends)
            if !taken.isEmpty { waits.removeAll(where: ends) }
            return taken
        }
    }

    fileprivate struct Wait {
        let id: UInt64
        let descriptor: Int32?
        let deadline: ContinuousClock.Instant?
        let continuation: CheckedContinuation<WakeReason, Never>
    }

    /// Why a wait ended.
    public enum WakeReason: Sendable {
        /// The socket has something to read, or has ended.
        case readable
        /// The deadline has passed.
        case deadline
        /// Someone called `wake()`, or the waiting task was cancelled.
        case woken
    }

    /// Starts a thread with a name of at most 15 bytes, as `top -H` shows it.
    public init(name: String) {
        shared = Lock(Shared())
        doorbell = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        precondition(doorbell >= 0, "eventfd failed with errno \(errno)")
        start(name: name)
    }

    deinit {
        close(doorbell)
    }

    /// Lets the thread end once it has run the jobs that it holds.
    public func stop() {
        shared.withLock { $0.isStopping = true }
        ring()
    }

    /// Ends the owner's present wait; when there is none, its next one ends at once.
    public func wake() {
        shared.withLock { $0.isWoken = true }
        ring()
    }

    /// Suspends the owner until the descriptor can be read, the deadline passes, or someone wakes it.
    ///
    /// Other jobs of the owner run meanwhile.
    public func wait(
        readable descriptor: Int32? = nil,
        until deadline: ContinuousClock.Instant? = nil,
        isolation: isolated (any Actor)? = #isolation
    ) async -> WakeReason {
        let id = shared.withLock { state in
            state.nextWait += 1
            return state.nextWait
        }
        return await withTaskCancellationHandler {
            // Keeps the closure on the owner's executor: without it, it would run on the shared pool, and
            // a pool that is busy would hold up the owner.
            _ = isolation
            return await withCheckedContinuation { continuation in
                let wait = Wait(
                    id: id,
                    descriptor: descriptor,
                    deadline: deadline,
                    continuation: continuation
                )
                // A task that is cancelled from here on finds the wait; one that was before is seen here.
                let (isAdded, mustRing) = shared.withLock { state in
                    guard !Task.isCancelled else { return (false, false) }
                    state.waits.append(wait)
                    return (true, state.isPolling)
                }
                if !isAdded { continuation.resume(returning: .woken) }
                if mustRing { ring() }
            }
        } onCancel: {
            let isWaiting = shared.withLock { state in
                guard state.waits.contains(where: { $0.id == id }) else { return false }
                state.cancelledWaits.insert(id)
                return true
            }
            if isWaiting { ring() }
        }
    }

    /// Suspends the owner for a time; returns early when its task is cancelled or it is woken.
    public func sleep(
        for duration: Duration,
        isolation: isolated (any Actor)? = #isolation
    ) async {
        _ = await wait(until: .now + duration)
    }

    // MARK: Executor

    /// Takes a job of the owner.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let mustRing = shared.withLock {
            $0.jobs.append(job)
            return $0.isPolling
        }
        if mustRing { ring() }
    }

    /// The thread as the executor of an actor.
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    /// Traps when the caller runs elsewhere.
    public func checkIsolated() {
        precondition(isCurrent, "called from another thread than the owner's")
    }

    /// Whether the caller runs on this thread.
    public func isIsolatingCurrentContext() -> Bool? {
        isCurrent
    }

    private var isCurrent: Bool {
        shared.withLock { $0.thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    // MARK: The loop

    private func start(name: String) {
        let argument = Unmanaged.passRetained(Start(owner: self, name: name)).toOpaque()
        var thread = pthread_t()
        let status = pthread_create(&thread, nil, runExecutorThread, argument)
        precondition(status == 0, "pthread_create failed with \(status)")
        pthread_detach(thread)
    }

    fileprivate func loop() {
        shared.withLock { $0.thread = pthread_self() }
        while true {
            runJobs()
            resumeWoken()
            let (mustEnd, waits) = shared.withLock { state -> (Bool, [Wait]?) in
                // A wake that nobody waits for is kept for the next wait; the thread rests meanwhile.
                let mustResume =
                    state.isWoken && !state.waits.isEmpty || !state.cancelledWaits.isEmpty
                let isIdle = state.jobs.isEmpty && !mustResume
                state.isPolling = isIdle
                return (
                    isIdle && state.isStopping && state.waits.isEmpty, isIdle ? state.waits : nil
                )
            }
            if mustEnd { return }
            if let waits { poll(waits) }
        }
    }

    private func runJobs() {
        while true {
            let jobs = shared.withLock { state in
                let jobs = state.jobs
                state.jobs.removeAll(keepingCapacity: true)
                return jobs
            }
            if jobs.isEmpty { return }
            for job in jobs {
                job.runSynchronously(
                    isolatedTo: asUnownedSerialExecutor(),
                    taskExecutor: asUnownedTaskExecutor()
                )
            }
        }
    }

    private func poll(_ waits: [Wait]) {
        var descriptors = [pollfd(fd: doorbell, events: Int16(POLLIN), revents: 0)]
        for wait in waits {
            if let descriptor = wait.descriptor {
                descriptors.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
            }
        }
        _ = Glibc.poll(&descriptors, nfds_t(descriptors.count), pollTimeout(waits))
        shared.withLock { $0.isPolling = false }
        drainDoorbell()
        let readable = Set(descriptors.dropFirst().filter { $0.revents != 0 }.map(\.fd))
        if !readable.isEmpty { resume(.readable) { $0.descriptor.map(readable.contains) ?? false } }
        let now = ContinuousClock.now
        resume(.deadline) { $0.deadline.map { $0 <= now } ?? false }
    }

    /// Milliseconds until the nearest deadline, rounded up; -1 when there is none.
    private func pollTimeout(_ waits: [Wait]) -> Int32 {
        guard let nearest = waits.compactMap(\.deadline).min() else { return -1 }
        let left = nearest - .now
        guard left > .zero else { return 0 }
        return Int32(min(left / .milliseconds(1), 3_600_000).rounded(.up))
    }

    private func resumeWoken() {
        let woken = shared.withLock { state in
            let all = state.isWoken && !state.waits.isEmpty
            if all { state.isWoken = false }
            let ids = state.cancelledWaits
            state.cancelledWaits.removeAll()
            return all || !ids.isEmpty ? state.take { all || ids.contains($0.id) } : []
        }
        for wait in woken { wait.continuation.resume(returning: .woken) }
    }

    private func resume(_ reason: WakeReason, where ends: (Wait) -> Bool) {
        let ready = shared.withLock { $0.take(where: ends) }
        for wait in ready { wait.continuation.resume(returning: reason) }
    }

    private func ring() {
        var one: UInt64 = 1
        _ = write(doorbell, &one, MemoryLayout<UInt64>.size)
    }

    private func drainDoorbell() {
        var count: UInt64 = 0
        _ = read(doorbell, &count, MemoryLayout<UInt64>.size)
    }
}

private final class Start {
    let owner: ExecutorThread
    let name: String

    init(owner: ExecutorThread, name: String) {
        self.owner = owner
        self.name = name
    }
}

private func runExecutorThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
    pthread_setname_np(pthread_self(), String(start.name.prefix(15)))
    start.owner.loop()
    return nil
}
