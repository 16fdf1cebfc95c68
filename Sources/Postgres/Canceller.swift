internal import CLibPQ
internal import Glibc

/// Cancels what runs on a connection, from any thread.
///
/// A cancel is kept: when no statement runs, the next one fails before it starts, until `reset()`.
/// While a cancel is under way no statement starts or ends, so it can never hit a later one.
public final class Canceller: Sendable {
    private let state = Lock(State())

    private struct State: @unchecked Sendable {
        // Safe: libpq documents PQcancel as usable from any thread; the handle is freed under the lock.
        var handle: OpaquePointer?
        /// Compared only, never used.
        var connection: OpaquePointer?
        var isRunning = false
        var isRequested = false
    }

    /// Makes a canceller that can be given to one connection after another.
    public init() {}

    deinit {
        state.withLock { PQfreeCancel($0.handle) }
    }

    /// Cancels the statement that runs, or the next one; blocks until the server has been told.
    public func cancel() {
        state.withLock { state in
            state.isRequested = true
            guard state.isRunning, let handle = state.handle else { return }
            var message = [CChar](repeating: 0, count: 256)
            // A failure means that the server is not to be reached: then the statement fails anyway.
            _ = PQcancel(handle, &message, Int32(message.count))
        }
    }

    /// Forgets an earlier cancel.
    public func reset() {
        state.withLock { $0.isRequested = false }
    }

    /// Whether a cancel was asked for and not yet forgotten.
    public var isRequested: Bool {
        state.withLock { $0.isRequested }
    }

    func attach(_ connection: OpaquePointer) {
        state.withLock { state in
            PQfreeCancel(state.handle)
            state.handle = PQgetCancel(connection)
            state.connection = connection
            state.isRunning = false
        }
    }

    /// Lets go of a connection that ends, unless another one has taken its place.
    func detach(_ connection: OpaquePointer) {
        state.withLock { state in
            guard state.connection == connection else { return }
            PQfreeCancel(state.handle)
            state.handle = nil
            state.connection = nil
            state.isRunning = false
        }
    }

    func begin() throws(PostgresError) {
        let isRequested = state.withLock { state in
            state.isRunning = !state.isRequested
            return state.isRequested
        }
        if isRequested {
            throw PostgresError(
                state: .queryCanceled,
                message: "cancelled before the statement started"
            )
        }
    }

    func end() {
        state.withLock { $0.isRunning = false }
    }
}
