/// A claimed job, as a worker gets it.
public struct Job: Sendable, Identifiable {
    /// The job's number.
    public let id: Int64
    /// Names the handler.
    public let kind: String
    /// The queue from which it was claimed.
    public let queue: String
    /// Lower runs first.
    public let priority: Int32
    /// What to do; a JSON object.
    public let args: JSONText
    /// The number of this attempt, from 1.
    public let attempt: Int32
    /// What earlier attempts have committed.
    public let progress: Progress
    /// The batches that earlier attempts have committed.
    public let batches: Int64
    /// What it heeded when it was claimed.
    let limits: JobLimits
}

/// What a job has committed so far.
public struct Progress: Sendable, Hashable {
    /// Where the next batch starts, in the handler's own terms.
    public var checkpoint: JSONText?
    /// Rows worked off.
    public var rowsDone: Int64
    /// Rows that there are in all, where that is known or estimated.
    public var rowsTotal: Int64?
    /// The figures that `show` prints; a JSON object.
    public var result: JSONText?

    /// Describes progress; nothing is done unless given.
    public init(
        checkpoint: JSONText? = nil,
        rowsDone: Int64 = 0,
        rowsTotal: Int64? = nil,
        result: JSONText? = nil
    ) {
        self.checkpoint = checkpoint
        self.rowsDone = rowsDone
        self.rowsTotal = rowsTotal
        self.result = result
    }
}
