public import Postgres

extension JobContext {
    /// Runs statements outside a transaction on the session of the batches, for what the server refuses inside
    /// one.
    ///
    /// It begins only while the job is this worker's, and whoever takes the job over ends the session first. What
    /// was done when the connection is lost in the middle is for the closure to find out: it runs again when it
    /// failed and may succeed at another try.
    ///
    /// - Throws: What the closure threw, `JobInterruption`, or the server's last word.
    public func outsideTransaction<Result>(
        _ body: (Connection) throws -> Result
    ) async throws -> Result {
        try await persist { connection in
            let isOwn: Bool = try connection.query(
                "select bulkhead.enter_job(\(job.id), \(job.attempt), \(daemon))"
            ).required(0, 0)
            guard isOwn else { throw JobInterruption.lost }
            do {
                let result = try body(connection)
                try connection.query("select bulkhead.leave_job(\(job.id))")
                return result
            } catch {
                if !connection.isLost {
                    try connection.rollback()
                    try connection.query("select bulkhead.leave_job(\(job.id))")
                }
                throw error
            }
        }
    }
}
