/// Why a job cannot be done; trying again would not help.
public struct JobFailure: Error, Sendable, CustomStringConvertible {
    /// What failed, where, and what to do next, on one line.
    public var message: String
    /// More about it.
    public var detail: String?
    /// The server's code, where the server said it.
    public var sqlstate: String?
    /// Where in the input, such as `flights.csv line 17`.
    public var position: String?

    /// Describes a failure for good.
    public init(
        _ message: String,
        detail: String? = nil,
        sqlstate: String? = nil,
        position: String? = nil
    ) {
        self.message = message
        self.detail = detail
        self.sqlstate = sqlstate
        self.position = position
    }

    /// The same in words.
    public var description: String { message }
}

/// Why a job stops before it is done, through no fault of its own.
public enum JobInterruption: Error, Sendable, Equatable {
    /// Someone cancelled it.
    case cancelled
    /// Someone paused it: it goes on from the checkpoint when it is resumed.
    case paused
    /// The daemon stops; another one goes on from the checkpoint.
    case handedBack
    /// The job is no longer this worker's.
    case lost
}
