internal import Postgres

/// Places that tests wait for, first come, first served.
final class Places: Sendable {
    private let state: Lock<State>

    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    init(_ count: Int) {
        state = Lock(State(free: count))
    }

    /// Waits for a place.
    func take() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    /// Hands the place to whoever waits longest.
    func giveBack() {
        let next = state.withLock { state in
            guard state.waiting.isEmpty else { return Optional(state.waiting.removeFirst()) }
            state.free += 1
            return nil
        }
        next?.resume()
    }
}
