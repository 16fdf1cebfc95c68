internal import Postgres

/// The statements around a batch's work.
extension JobContext {
    enum Beginning {
        case open
        case committedBefore(Progress)
    }

    /// Opens the transaction, waits for an earlier try's server process that may still be committing,
    /// and only then reads how far the job is.
    func begin(_ connection: Connection) throws -> Beginning {
        let row = try connection.pipeline([
            // Not `read write`, which a standby refuses as something that it will never do.
            "begin isolation level read committed",
            """
            select set_config('synchronous_commit', 'on', true), set_config('lock_timeout', '2s', true),
                set_config('statement_timeout', '0', true), set_config('bulkhead.job', \(job.id)::text, true),
                pg_advisory_xact_lock(bulkhead.lock_class(), bulkhead.lock_key(\(job.id)))
            """,
            """
            select current_setting('transaction_read_only') = 'on', j.batches, j.checkpoint::text,
                j.rows_done, j.rows_total, j.result::text
            from (values (1)) as always
            left join bulkhead.job j
            on j.id = \(job.id) and j.attempt = \(job.attempt) and j.daemon = \(daemon)
                and j.state = 'running'
            """,
        ])
        // A standby may also lag behind what it says of the job.
        if try row.required(0, 0) {
            throw PostgresError(state: .readOnlyTransaction, message: "the server takes no writes")
        }
        guard let committed: Int64 = try row.value(0, 1) else { throw JobInterruption.lost }
        if committed == batches { return .open }
        guard committed == batches + 1 else { throw JobInterruption.lost }
        let progress = Progress(
            checkpoint: try row.value(0, 2),
            rowsDone: try row.required(0, 3),
            rowsTotal: try row.value(0, 4),
            result: try row.value(0, 5)
        )
        try connection.rollback()
        return .committedBefore(progress)
    }

    func commit(_ progress: Progress, _ connection: Connection) throws {
        guard connection.isInTransaction || connection.isLost else {
            throw JobFailure(
                "the handler of \(job.kind) ended the transaction that it was lent: a batch commits by itself"
            )
        }
        try connection.pipeline([
            "set constraints all immediate",
            """
            select bulkhead.commit_batch(\(job.id), \(job.attempt), \(daemon), \(batches),
                \(progress.checkpoint), \(progress.rowsDone), \(progress.rowsTotal), \(progress.result))
            """,
            "commit",
        ])
    }
}
