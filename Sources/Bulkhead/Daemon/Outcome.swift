internal import Postgres

/// How an attempt at a job ended.
enum Outcome {
    case completed(JSONText?)
    case cancelled
    /// Failed for good.
    case failed(JobFailure)
    /// Failed, and is tried again later.
    case retry(JobFailure)
    /// Stopped between batches, and goes on from there, at once or when it is resumed.
    case handedBack
    /// Another daemon has it; nothing may be written.
    case lost

    /// Judges what a handler threw.
    ///
    /// - Parameters:
    ///   - error: What it threw.
    ///   - interruption: What had been asked of the job: it explains a statement that was cancelled.
    init(_ error: any Error, interruption: JobInterruption?) {
        switch error {
        case let error as JobInterruption: self.init(error)
        case let error as JobFailure: self = .failed(error)
        case let error as PostgresError: self.init(error, interruption)
        default: self = .retry(JobFailure("\(error)"))
        }
    }

    private init(_ interruption: JobInterruption) {
        switch interruption {
        case .cancelled: self = .cancelled
        case .paused, .handedBack: self = .handedBack
        case .lost: self = .lost
        }
    }

    private init(_ error: PostgresError, _ interruption: JobInterruption?) {
        if let interruption, [.cancelled, .connectionLost, .transient].contains(error.kind) {
            self.init(interruption)
            return
        }
        let failure = JobFailure(
            error.message,
            detail: [error.detail, error.hint, error.context].compactMap { $0 }.joined(
                separator: "\n"
            ),
            sqlstate: error.state?.rawValue
        )
        switch error.kind {
        case .fenced: self = .lost
        case .connectionLost, .unavailable, .transient, .cancelled: self = .retry(failure)
        case .conflict, .badData, .permission, .permanent: self = .failed(failure)
        }
    }

    /// The word for `bulkhead.finish`; nil when nothing may be written.
    var name: String? {
        switch self {
        case .completed: "completed"
        case .cancelled: "cancelled"
        case .failed: "failed"
        case .retry: "retry"
        case .handedBack: "handed back"
        case .lost: nil
        }
    }

    var failure: JobFailure? {
        switch self {
        case .failed(let failure), .retry(let failure): failure.storable
        case .completed, .cancelled, .handedBack, .lost: nil
        }
    }

    var result: JSONText? {
        if case .completed(let result) = self { result } else { nil }
    }
}

extension JobFailure {
    /// The same with texts that the server takes whatever they hold: no NUL, and not too long.
    fileprivate var storable: JobFailure {
        JobFailure(
            clean(message) ?? "",
            detail: clean(detail),
            sqlstate: clean(sqlstate),
            position: clean(position)
        )
    }

    private func clean(_ text: String?) -> String? {
        guard let text, !text.isEmpty else { return nil }
        return String(text.prefix(8000).map { $0 == "\0" ? "\u{FFFD}" : $0 })
    }
}
