internal import Bulkhead
internal import Postgres

/// What every kind of step needs: the job, the turn, the record, and words for what fails.
struct StepSite {
    let context: JobContext
    let arguments: MigrationArguments
    let turn: MigrationTurn
    let task: StepTask

    init(
        _ context: JobContext,
        _ arguments: MigrationArguments,
        _ turn: MigrationTurn,
        _ task: StepTask
    ) {
        self.context = context
        self.arguments = arguments
        self.turn = turn
        self.task = task
    }

    /// Opens one transaction of the step: while the turn is this session's, and with names as the caller meant them.
    ///
    /// - Returns: How far the step is.
    func open(_ batch: Batch) throws -> JSONText? {
        try turn.require(batch.connection)
        let position = try MigrationLedger(connection: batch.connection).begin(
            task,
            job: context.job.id
        )
        try usePath(batch.connection, isLocal: true)
        return position
    }

    func usePath(_ connection: Connection, isLocal: Bool) throws {
        guard let path = arguments.searchPath else { return }
        try connection.query("select pg_catalog.set_config('search_path', \(path), \(isLocal))")
    }

    /// Lets a file's own statements mean what they mean in any other tool: with the times, dates and intervals of the
    /// database and the role, not with ours.
    func useUsualSettings(_ connection: Connection, isLocal: Bool) throws {
        try usePath(connection, isLocal: isLocal)
        let scope = isLocal ? "local" : "session"
        let settings = [
            "TimeZone", "DateStyle", "IntervalStyle", "bytea_output", "extra_float_digits",
        ]
        try connection.run(
            script: settings.map { "set \(scope) \($0) to default" }.joined(separator: "; ")
        )
    }

    /// Runs one statement of the file; whatever rows it returns, nobody wants.
    ///
    /// - Returns: How many rows it inserted, updated, deleted or returned.
    /// - Throws: `JobFailure` with its line when trying again does not help.
    @discardableResult
    func run(_ statement: SQLStatement, as text: String? = nil, _ connection: Connection) throws
        -> Int
    {
        try explaining(statement) { try connection.execute(SQL(unsafe: text ?? statement.text)) }
    }

    /// Names the file and the line in what the server says of a statement.
    func explaining<Result>(
        _ statement: SQLStatement?,
        _ body: () throws -> Result
    ) throws -> Result {
        do {
            return try body()
        } catch let error as PostgresError where error.isFinal {
            throw failure(error, statement)
        }
    }

    func failure(_ error: PostgresError, _ statement: SQLStatement?, _ more: String? = nil)
        -> JobFailure
    {
        let position = task.position(statement)
        let advice =
            error.state == .activeTransaction
            ? "give it a step of its own with -- bulkhead: concurrently" : nil
        let said = [error.message, error.detail ?? error.hint, more, advice].compactMap(\.self)
            .joined(
                separator: "; "
            )
        return JobFailure(
            "\(position): \(said): mend the file and run it again, what was applied before stays",
            detail: error.context,
            sqlstate: error.state?.rawValue,
            position: position
        )
    }

    /// Closes a transaction of the step.
    ///
    /// - Returns: How far the job is then.
    func close(
        _ batch: Batch,
        _ statements: [SQLStatement],
        isDone: Bool,
        rows: Int64 = 0,
        total: Int64? = nil
    ) throws -> Progress {
        let connection = batch.connection
        // A deferred constraint would speak up at COMMIT, when nobody knows the file any more.
        try explaining(statements.last) {
            _ = try connection.run(script: "set constraints all immediate").count
        }
        try connection.restoreSettings()
        try connection.query("select pg_catalog.set_config('synchronous_commit', 'on', true)")
        var report = try MigrationReport(context.progress)
        report.rows += rows
        if isDone {
            try MigrationLedger(connection: connection).end(task)
            report.steps += 1
            if task.isLast { report.files.append(task.plan.file.name) }
        }
        return try report.stored(total: total)
    }

    /// Records that the step failed.
    func note(_ failure: JobFailure) async throws {
        try await context.batch { batch in
            let ledger = MigrationLedger(connection: batch.connection)
            _ = try ledger.begin(task, job: context.job.id)
            try ledger.fail(task, failure.message)
            return context.progress
        }
    }
}

extension PostgresError {
    /// Whether trying again does not help.
    var isFinal: Bool {
        // A table with pending trigger events, say: the same statements meet it again.
        if state == .objectInUse { return true }
        return switch kind {
        case .conflict, .badData, .permission, .permanent: true
        case .connectionLost, .unavailable, .transient, .cancelled, .fenced: false
        }
    }
}
