import Dispatch
import Glibc
import Testing

@testable import Postgres

@Suite struct ExecutorThreadTests {
    /// An actor on a thread of its own.
    fileprivate actor Owner {
        nonisolated let thread: ExecutorThread
        nonisolated let unownedExecutor: UnownedSerialExecutor
        private(set) var seen: [Int] = []

        init(name: String = "owner") {
            thread = ExecutorThread(name: name)
            unownedExecutor = thread.asUnownedSerialExecutor()
        }

        deinit { thread.stop() }

        func note(_ number: Int) { seen.append(number) }

        func wait(
            readable descriptor: Int32? = nil,
            until deadline: ContinuousClock.Instant? = nil
        ) async -> ExecutorThread.WakeReason {
            let reason = await thread.wait(readable: descriptor, until: deadline)
            thread.checkIsolated()
            return reason
        }

        func cpuTime() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }

        func threadID() -> UInt { UInt(bitPattern: pthread_self().hashValue) }
    }

    @Test func jobsRunInOrderOnOneThread() async {
        let owner = Owner()
        let first = await owner.threadID()
        for number in 0..<1000 { await owner.note(number) }
        #expect(await owner.seen == Array(0..<1000))
        #expect(await owner.threadID() == first)
    }

    @Test func jobsOfManyTasksAllRunOneAtATime() async {
        let owner = Owner()
        await withDiscardingTaskGroup { group in
            for number in 0..<2000 { group.addTask { await owner.note(number) } }
        }
        #expect(await Set(owner.seen).count == 2000)
    }

    @Test(.timeLimit(.minutes(15))) func blockingThreadsDoNotHoldUpEachOther() async {
        // Each blocks its thread until all have come: with fewer threads than that, none would go on.
        let all = Meeting(of: 32)
        await withDiscardingTaskGroup { group in
            for _ in 0..<32 {
                let thread = ExecutorThread(name: "blocking")
                group.addTask(executorPreference: thread) {
                    all.wait()
                    thread.stop()
                }
            }
        }
    }

    @Test func aWaitEndsAtItsDeadline() async {
        let owner = Owner()
        let start = ContinuousClock.now
        #expect(await owner.wait(until: start + .milliseconds(50)) == .deadline)
        #expect(.now - start >= .milliseconds(50))
        #expect(await owner.wait(until: start) == .deadline)
    }

    @Test func aWaitEndsWhenTheDescriptorHasSomething() async {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        let owner = Owner()
        let (reading, writing) = (ends[0], ends[1])
        async let reason = owner.wait(readable: reading, until: .now + .seconds(30))
        #expect(write(writing, "x", 1) == 1)
        #expect(await reason == .readable)
        // The other end's closing can be read as well.
        var byte: UInt8 = 0
        #expect(read(reading, &byte, 1) == 1)
        async let end = owner.wait(readable: reading, until: .now + .seconds(30))
        close(writing)
        #expect(await end == .readable)
        close(reading)
    }

    @Test func anEarlyWakeEndsTheNextWaitAndOnlyThat() async {
        let owner = Owner()
        owner.thread.wake()
        owner.thread.wake()
        #expect(await owner.wait(until: .now + .seconds(30)) == .woken)
        #expect(await owner.wait(until: .now + .milliseconds(20)) == .deadline)
    }

    @Test func anEarlyWakeDoesNotKeepTheThreadBusy() async {
        let owner = Owner()
        owner.thread.wake()
        let before = await owner.cpuTime()
        let rest = ExecutorThread(name: "rest")
        await withTaskExecutorPreference(rest) { await rest.sleep(for: .milliseconds(300)) }
        rest.stop()
        #expect(await owner.cpuTime() - before < 0.1)
    }

    @Test func aThreadThatWasWokenEarlyStillEnds() async throws {
        weak var ended: ExecutorThread?
        do {
            let thread = ExecutorThread(name: "woken")
            ended = thread
            thread.wake()
            thread.stop()
        }
        let deadline = ContinuousClock.now + .seconds(10)
        while ended != nil, .now < deadline { try await Task.sleep(for: .milliseconds(5)) }
        #expect(ended == nil)
    }

    @Test(.timeLimit(.minutes(15))) func aCancelledTaskStopsWaiting() async {
        let owner = Owner()
        let waiting = Task { await owner.wait(until: .now + .seconds(60)) }
        waiting.cancel()
        #expect(await waiting.value == .woken)
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await owner.wait()
        }
        #expect(await late.value == .woken)
    }

    @Test func jobsRunWhileTheOwnerWaits() async {
        let owner = Owner()
        async let reason = owner.wait(until: .now + .seconds(60))
        for number in 0..<100 { await owner.note(number) }
        #expect(await owner.seen.count == 100)
        owner.thread.wake()
        #expect(await reason == .woken)
    }

    @Test func aWakeEndsAllWaits() async {
        let owner = Owner()
        let reasons = await withTaskGroup(of: ExecutorThread.WakeReason.self) { group in
            for _ in 0..<10 { group.addTask { await owner.wait(until: .now + .milliseconds(500)) } }
            var reasons: [ExecutorThread.WakeReason] = []
            for await reason in group { reasons.append(reason) }
            return reasons
        }
        #expect(reasons.count == 10)
    }

    @Test func aStoppedThreadFirstRunsWhatItHolds() async {
        let thread = ExecutorThread(name: "stopped")
        let waited = Task(executorPreference: thread) {
            await thread.wait(until: .now + .milliseconds(100))
        }
        let ran = Task(executorPreference: thread) { 7 }
        #expect(await ran.value == 7)
        thread.stop()
        #expect(await waited.value == .deadline)
    }

    @Test func threadsAreNamedAndManyCanBeMade() async {
        for _ in 0..<200 {
            let owner = Owner(name: "a name that is far too long")
            await owner.note(1)
        }
        let owner = Owner(name: "bulkhead-named")
        let name = await owner.threadName()
        #expect(name == "bulkhead-named")
    }
}

extension ExecutorThreadTests.Owner {
    fileprivate func threadName() -> String {
        let path = "/proc/thread-self/comm"
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 64)
        fgets(&buffer, 64, file)
        return String(decoding: buffer.prefix { $0 > 10 }.map(UInt8.init), as: UTF8.self)
    }
}

/// Blocks each of a number of threads until the last one has come.
private final class Meeting: @unchecked Sendable {
    // Safe: pthread's own barrier, which never moves.
    private let barrier = UnsafeMutablePointer<pthread_barrier_t>.allocate(capacity: 1)

    init(of count: UInt32) {
        pthread_barrier_init(barrier, nil, count)
    }

    deinit {
        pthread_barrier_destroy(barrier)
        barrier.deallocate()
    }

    func wait() {
        pthread_barrier_wait(barrier)
    }
}
