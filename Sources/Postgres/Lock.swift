internal import Glibc

/// A value behind a mutex, for small state that is read and written without suspending.
///
/// A pthread mutex rather than `Synchronization.Mutex`, which the thread sanitizer cannot follow.
public final class Lock<Value>: @unchecked Sendable {
    // Safe: `value` is reached only between lock and unlock, and the mutex lives on the heap, where its
    // address never changes.
    private var value: Value
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    /// Puts a value behind a new mutex.
    public init(_ value: Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
        let status = pthread_mutex_init(mutex, nil)
        precondition(status == 0, "pthread_mutex_init failed with \(status)")
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs the closure with the value while no one else can reach it.
    public func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
