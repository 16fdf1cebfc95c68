internal import Bulkhead
internal import Postgres

/// Loads one batch inside its transaction.
///
/// A batch goes straight into the table where that is possible. Else, and whenever a row is refused, its
/// rows are staged: one statement moves them, and what the server refuses is narrowed down to the rows to
/// blame.
struct BatchLoader {
    private let plan: ImportPlan
    private let batch: ParsedBatch
    private let file: String
    private let transaction: Batch
    private let job: Int64
    private let rejectsLeft: Int64
    private let stage: any StagedRows
    private var connection: Connection { transaction.connection }

    /// Prepares to load a batch of a file, of which so many rows may still be rejected.
    init(
        _ batch: ParsedBatch,
        _ plan: ImportPlan,
        file: String,
        job: Int64,
        rejectsLeft: Int64,
        in transaction: Batch
    ) {
        self.batch = batch
        self.plan = plan
        self.file = file
        self.job = job
        self.rejectsLeft = rejectsLeft
        self.transaction = transaction
        let connection = transaction.connection
        stage =
            plan.target.facts.mayMakeTemporaryTables
            ? StageTable(plan: plan, batch: batch, connection: connection)
            : SentRows(plan: plan, batch: batch, connection: connection)
    }

    /// Loads the batch.
    ///
    /// - Throws: `TooManyRejects`, `JobFailure` for a conflict that the policy does not allow, or what
    ///   the server said.
    func load() throws -> BatchOutcome {
        var outcome = BatchOutcome(
            batch,
            columns: plan.columns,
            file: file,
            allowed: rejectsLeft
        )
        if plan.isDirect, !batch.hasMissing, !outcome.hasTooMany, !batch.rows.isEmpty,
            try loadDirectly()
        {
            outcome.inserted = batch.rows.count
            return outcome
        }
        if outcome.horizon > 0 { try loadStaged(&outcome) }
        if outcome.hasTooMany { throw TooManyRejects(rejects: outcome.rejects) }
        return outcome
    }

    // MARK: Straight into the table

    /// - Returns: Whether it went in; if not, nothing is changed.
    private func loadDirectly() throws -> Bool {
        guard plan.target.primaryKey.isEmpty || batch.ids != nil else { return false }
        do {
            try connection.savepoint {
                try connection.copyIn(plan.copyIntoTarget) { try $0.write(batch.text) }
                try connection.run(script: "set constraints all immediate")
            }
        } catch let error as PostgresError where isAboutRows(error) || error.kind == .permanent {
            // Values may also be refused as names or expressions; the stage tells them from the rest.
            return false
        }
        if plan.target.primaryKey.isEmpty {
            try transaction.publish(.insert, of: plan.target.relation, ids: nil)
        }
        for ids in batch.ids ?? [] {
            let ids = JSONText(String(decoding: ids, as: UTF8.self))
            try transaction.publish(.insert, of: plan.target.relation, ids: ids)
        }
        return true
    }

    // MARK: By way of the stage

    private func loadStaged(_ outcome: inout BatchOutcome) throws {
        try stage.fill(&outcome)
        var settling = false
        while true {
            var attempt = outcome
            do {
                try connection.savepoint {
                    try insert(0...batch.rows.count - 1, &attempt, settling: settling)
                    try connection.run(script: "set constraints all immediate")
                }
                outcome = attempt
                break
            } catch let error as PostgresError where isAboutRows(error) && !settling {
                // A deferred constraint: its error names no row, so each range is checked from here on,
                // unless one statement finds them.
                outcome = attempt
                outcome.inserted = 0
                if try !refuseOrphans(error, &outcome) { settling = true }
            }
        }
        guard !outcome.hasTooMany else { return }
        try moveSequences(outcome)
        if !plan.returnsKeys, outcome.inserted > 0 {
            try transaction.publish(.insert, of: plan.target.relation, ids: nil)
        }
    }

    /// Moves staged rows into the table; a range that is refused is halved until the rows to blame are
    /// alone.
    ///
    /// With `settling`, deferred constraints are checked for each range.
    private func insert(
        _ rows: ClosedRange<Int>,
        _ outcome: inout BatchOutcome,
        settling: Bool
    ) throws {
        guard rows.lowerBound < outcome.horizon else { return }
        let rows = rows.clamped(to: 0...outcome.horizon - 1)
        let refused = outcome.refused(in: rows)
        guard refused.count < rows.count else { return }
        let source = stage.source(rows, without: refused)
        do {
            var inserted = 0
            try connection.savepoint {
                inserted = try move(source)
                if settling { try connection.run(script: "set constraints all immediate") }
            }
            outcome.inserted += inserted
        } catch let error as PostgresError where isAboutRows(error) {
            if try refuseOrphans(error, &outcome) {
                try insert(rows, &outcome, settling: settling)
            } else if rows.count > 1 {
                let middle = rows.lowerBound + (rows.count - 1) / 2
                try insert(rows.lowerBound...middle, &outcome, settling: settling)
                try insert(middle + 1...rows.upperBound, &outcome, settling: settling)
            } else {
                try refuse(rows.lowerBound, error, &outcome)
            }
        }
    }

    private func move(_ source: SQL) throws -> Int {
        guard plan.returnsKeys else {
            return try connection.query(plan.insert(from: source)).affected
        }
        return try connection.query(plan.insertPublishing(from: source, job: job)).required(0, 0)
    }

    private func refuse(_ row: Int, _ error: PostgresError, _ outcome: inout BatchOutcome) throws {
        if error.kind == .conflict, try plan.isKeyConflict(error, connection) {
            let position = "\(file) line \(batch.rows[row].line)"
            let detail = error.detail.map { " (\($0))" } ?? ""
            throw JobFailure(
                "\(position): \(error.message)\(detail); the rows of earlier batches stay; "
                    + "--on-conflict skip would keep the stored row",
                detail: error.detail,
                sqlstate: error.state?.rawValue,
                position: position
            )
        }
        outcome.refuse(row, error, column: try columnToBlame(for: error, in: row))
    }

    private func columnToBlame(for error: PostgresError, in row: Int) throws -> Int? {
        if let name = error.column { return plan.columns.firstIndex { $0.name == name } }
        guard error.state == .foreignKeyViolation else { return try stage.blame(row) }
        let key = try ForeignKey(error, plan, connection)
        return key.flatMap { $0.columns.count == 1 ? $0.columns[0] : nil }
    }

    /// Refuses the staged rows that refer to a row that is nowhere, by one statement.
    ///
    /// - Returns: Whether there were any.
    private func refuseOrphans(_ error: PostgresError, _ outcome: inout BatchOutcome) throws
        -> Bool
    {
        guard error.state == .foreignKeyViolation, outcome.horizon > 0,
            let key = try ForeignKey(error, plan, connection)
        else { return false }
        let all = 0...batch.rows.count - 1
        let near = 0...outcome.horizon - 1
        let query = key.orphans(
            in: stage.source(near, without: outcome.refused(in: near)),
            among: stage.source(all, without: outcome.refused(in: all))
        )
        var orphans: [Int] = []
        do {
            try connection.savepoint {
                let rows = try connection.query(query)
                orphans = try (0..<rows.count).map { try rows.required($0, 0) }
            }
        } catch let failure as PostgresError
            where failure.kind == .permission || isAboutRows(failure)
        {
            // The role may not look, or a bad value is among those that were sent: halving finds both.
            return false
        }
        for row in orphans {
            outcome.refuse(
                row,
                column: key.columns.count == 1 ? key.columns[0] : nil,
                sqlstate: SQLState.foreignKeyViolation.rawValue,
                message: "\(error.message): the row that it refers to is not in \(key.referenced)"
            )
        }
        return !orphans.isEmpty
    }

    /// Moves the sequences of filled columns past the values that came from the file, never back.
    private func moveSequences(_ outcome: BatchOutcome) throws {
        let all = 0...batch.rows.count - 1
        for (index, column) in plan.columns.enumerated() {
            guard let sequence = column.sequence else { continue }
            let value = "s.bulkhead_c\(index + 1)"
            try connection.query(
                """
                select bulkhead.advance_sequence(\(sequence)::regclass, max(\(unsafe: value))::numeric)
                from \(stage.source(all, without: outcome.refused(in: all)))
                """
            )
        }
    }

    /// Whether rows are to blame.
    ///
    /// Row security speaks of a row that it does not let in as of a missing
    /// privilege; those of the table were looked at before.
    private func isAboutRows(_ error: PostgresError) -> Bool {
        error.isAboutRows || (plan.target.facts.hasRowSecurity && error.kind == .permission)
    }
}

/// More rows were refused than the job allows.
struct TooManyRejects: Error {
    let rejects: [Reject]
}
