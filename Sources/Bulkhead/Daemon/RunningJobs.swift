internal import Postgres

/// The jobs that this daemon holds, for those who want one to stop.
final class RunningJobs: Sendable {
    private let state = Lock(State())

    private struct State {
        var controls: [Int64: JobControl] = [:]
        var isStopping = false
    }

    func add(_ control: JobControl, for job: Job) {
        let isStopping = state.withLock { state in
            state.controls[job.id] = control
            return state.isStopping
        }
        // Claimed just before the daemon was told to stop.
        if isStopping { control.stopAfterBatch(.handedBack) }
    }

    func remove(_ job: Job) {
        state.withLock { $0.controls[job.id] = nil }
    }

    subscript(job: Int64) -> JobControl? {
        state.withLock { $0.controls[job] }
    }

    var byID: [Int64: JobControl] {
        state.withLock { $0.controls }
    }

    var all: [JobControl] {
        Array(byID.values)
    }

    /// Whether the daemon was told to stop.
    var isStopping: Bool {
        state.withLock { $0.isStopping }
    }

    /// Asks all of them, and those that are still to come, to stop after the batch that they are in.
    func stopAfterBatch() {
        let controls = state.withLock { state in
            state.isStopping = true
            return state.controls.values
        }
        for control in controls { control.stopAfterBatch(.handedBack) }
    }
}
