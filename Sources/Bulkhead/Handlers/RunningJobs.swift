internal import Postgres

/// The jobs that this daemon holds, for those who want one to stop.
final class RunningJobs: Sendable {
    private let controls = Lock<[Int64: JobControl]>([:])

    func add(_ control: JobControl, for job: Job) {
        controls.withLock { $0[job.id] = control }
    }

    func remove(_ job: Job) {
        controls.withLock { $0[job.id] = nil }
    }

    subscript(job: Int64) -> JobControl? {
        controls.withLock { $0[job] }
    }

    var all: [JobControl] {
        controls.withLock { Array($0.values) }
    }
}
