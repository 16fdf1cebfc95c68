internal import Bulkhead
internal import Postgres

/// Loads one batch inside its transaction.
///
/// A batch goes straight into the table where that is possible. Else, and whenever a row is refused, it
/// goes through a temporary table: COPY checks the values, one statement moves the rows, and what either
/// refuses is narrowed down to the rows to blame.
struct BatchLoader {
    private let plan: ImportPlan
    private let batch: ParsedBatch
    private let file: String
    private let transaction: Batch
    private let job: Int64
    private let rejectsLeft: Int64
    private var connection: Connection { transaction.connection }

    /// What became of a batch.
    struct Outcome {
        var inserted = 0
        var rejects: [Reject]
    }

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
    }

    /// Loads the batch.
    ///
    /// - Throws: `TooManyRejects`, `JobFailure` for a conflict that the policy does not allow, or what
    ///   the server said.
    func load() throws -> Outcome {
        var outcome = Outcome(rejects: batch.rejects)
        try check(outcome)
        guard !batch.rows.isEmpty else { return outcome }
        if plan.isDirect, try loadDirectly() {
            outcome.inserted = batch.rows.count
            return outcome
        }
        try loadStaged(&outcome)
        return outcome
    }

    private func check(_ outcome: Outcome) throws {
        guard outcome.rejects.count > rejectsLeft else { return }
        throw TooManyRejects(rejects: outcome.rejects)
    }

    // MARK: Straight into the table

    /// - Returns: Whether it went in; if not, nothing is changed.
    private func loadDirectly() throws -> Bool {
        guard plan.target.primaryKey.isEmpty || batch.ids != nil else { return false }
        do {
            try savepoint {
                try connection.copyIn(plan.copyIntoTarget) { try $0.write(batch.text) }
                try connection.run(script: "set constraints all immediate")
            }
        } catch let error as PostgresError where error.isAboutRows {
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

    // MARK: Through the temporary table

    private func loadStaged(_ outcome: inout Outcome) throws {
        try connection.run(script: plan.createStage)
        try stage(&outcome)
        var isPatient = true
        while true {
            var attempt = outcome
            do {
                try savepoint {
                    try insert(0...batch.rows.count - 1, &attempt, settling: !isPatient)
                    try connection.run(script: "set constraints all immediate")
                }
                outcome = attempt
                return try moveSequences()
            } catch let error as PostgresError where error.isAboutRows && isPatient {
                // A deferred constraint: its error names no row.
                if try !rejectOrphans(error, &outcome) { isPatient = false }
            }
        }
    }

    /// Copies the rows, in as large pieces as go through.
    ///
    /// A refused row names its line; what stands before it is good, so the whole takes two passes
    /// at most, however many are bad.
    private func stage(_ outcome: inout Outcome) throws {
        var next = 0
        var piece = batch.rows.count
        while next < batch.rows.count {
            let end = min(next + piece, batch.rows.count)
            do {
                try savepoint { try copy(next..<end) }
                next = end
                piece = min(piece * 2, batch.rows.count)
            } catch let error as PostgresError where error.isAboutRows {
                let refusal = CopyRefusal(error.context, table: plan.stage)
                guard let refusal, (1...end - next).contains(refusal.line) else {
                    if end - next == 1 {
                        try reject(next, error, column: nil, &outcome)
                        next = end
                    }
                    piece = max(1, (end - next) / 2)
                    continue
                }
                let bad = next + refusal.line - 1
                if bad > next { try savepoint { try copy(next..<bad) } }
                try reject(bad, error, column: refusal.column.map { $0 - 1 }, &outcome)
                piece = max(16, (bad - next) * 2)
                next = bad + 1
            }
        }
    }

    private func copy(_ rows: Range<Int>) throws {
        var buffer: [UInt8] = []
        try connection.copyIn(plan.copyIntoStage) { writer in
            for row in rows {
                buffer += String(row).utf8
                buffer.append(Byte.tab)
                buffer += batch.text(of: row)
                if buffer.count > 1 << 16 {
                    try writer.write(buffer)
                    buffer.removeAll(keepingCapacity: true)
                }
            }
            try writer.write(buffer)
        }
    }

    /// Moves staged rows into the table; a range that is refused is halved until the rows to blame are
    /// alone.
    ///
    /// With `settling`, deferred constraints are checked for each range.
    private func insert(_ rows: ClosedRange<Int>, _ outcome: inout Outcome, settling: Bool) throws {
        do {
            try savepoint {
                let row = try connection.query(plan.insertStaged(rows, job: job))
                outcome.inserted += try row.required(0, 0, as: Int.self)
                if settling { try connection.run(script: "set constraints all immediate") }
            }
        } catch let error as PostgresError where error.isAboutRows {
            if try rejectOrphans(error, &outcome) {
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

    private func refuse(_ row: Int, _ error: PostgresError, _ outcome: inout Outcome) throws {
        if error.kind == .conflict, try isKeyConflict(error) {
            throw JobFailure(
                "\(file) line \(batch.rows[row].line): \(error.message): \(error.detail ?? ""); "
                    + "the rows of earlier batches stay; --on-conflict skip would keep the stored row",
                detail: error.detail,
                sqlstate: error.state?.rawValue,
                position: "\(file) line \(batch.rows[row].line)"
            )
        }
        let column = error.column.flatMap { name in plan.columns.firstIndex { $0.name == name } }
        try reject(row, error, column: column, &outcome)
        try connection.query(
            "delete from \(unsafe: "pg_temp.\(plan.stage)") where bulkhead_n = \(row)"
        )
    }

    private func reject(
        _ row: Int,
        _ error: PostgresError,
        column: Int?,
        _ outcome: inout Outcome
    ) throws {
        let detail = error.detail.map { " (\($0))" } ?? ""
        try reject(
            row,
            column: column,
            sqlstate: error.state?.rawValue ?? "XX000",
            message: error.message + (error.kind == .conflict ? detail : ""),
            &outcome
        )
    }

    private func reject(
        _ row: Int,
        column: Int?,
        sqlstate: String,
        message: String,
        _ outcome: inout Outcome
    ) throws {
        let column = column.flatMap { plan.columns.indices.contains($0) ? $0 : nil }
        outcome.rejects.append(
            Reject(
                file: file,
                line: batch.rows[row].line,
                offset: batch.rows[row].offset,
                columnName: column.map { plan.columns[$0].name },
                value: column.flatMap { batch.value(of: row, column: $0) },
                sqlstate: sqlstate,
                message: message,
                raw: batch.raw(of: row)
            )
        )
        try check(outcome)
    }

    // MARK: Constraints

    /// Whether the violated constraint is the key that the policy is about, or its like on a partition.
    private func isKeyConflict(_ error: PostgresError) throws -> Bool {
        guard !plan.key.isEmpty, let schema = error.schema, let constraint = error.constraint else {
            return false
        }
        let row = try connection.query(
            """
            select coalesce((
                select pg_catalog.array_agg(a.attname::text order by a.attname::text)
                    = (select pg_catalog.array_agg(k order by k)
                       from pg_catalog.unnest(\(plan.key.map(\.name))::text[]) k)
                from pg_catalog.pg_class c
                join pg_catalog.pg_namespace n on n.oid = c.relnamespace
                join pg_catalog.pg_index i on i.indexrelid = c.oid
                join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
                where n.nspname = \(schema) and c.relname = \(constraint)), false)
            """
        )
        return try row.required(0, 0)
    }

    /// Takes the staged rows that refer to a row that is nowhere out of the stage, by one statement.
    ///
    /// - Returns: Whether there were any.
    private func rejectOrphans(_ error: PostgresError, _ outcome: inout Outcome) throws -> Bool {
        guard error.state == .foreignKeyViolation,
            let key = try ForeignKey(error, plan, connection)
        else { return false }
        var orphans: [Int] = []
        do {
            try savepoint {
                let rows = try connection.query(key.deleteOrphans(from: "pg_temp.\(plan.stage)"))
                orphans = try (0..<rows.count).map { try rows.required($0, 0) }
            }
        } catch let failure as PostgresError where failure.kind == .permission {
            return false
        }
        for row in orphans.sorted() {
            try reject(
                row,
                column: key.columns.count == 1 ? key.columns[0] : nil,
                sqlstate: SQLState.foreignKeyViolation.rawValue,
                message: "\(error.message): the row that it refers to is not in \(key.referenced)",
                &outcome
            )
        }
        return !orphans.isEmpty
    }

    // MARK: Sequences

    /// Moves the sequences of filled columns past the values that came from the file, never back.
    private func moveSequences() throws {
        for (index, column) in plan.columns.enumerated() {
            guard let sequence = column.sequence else { continue }
            try connection.query(
                """
                select bulkhead.advance_sequence(\(sequence)::regclass,
                    (select max(\(unsafe: "bulkhead_c\(index + 1)")) from \(unsafe: "pg_temp.\(plan.stage)"))::bigint)
                """
            )
        }
    }

    /// Runs the closure so that its failure undoes no more than its own work.
    private func savepoint(_ body: () throws -> Void) throws {
        try connection.run(script: "savepoint bulkhead")
        do {
            try body()
        } catch let error as PostgresError where !connection.isLost {
            try connection.run(script: "rollback to savepoint bulkhead; release savepoint bulkhead")
            throw error
        }
        try connection.run(script: "release savepoint bulkhead")
    }
}

/// More rows were refused than the job allows.
struct TooManyRejects: Error {
    let rejects: [Reject]
}

extension PostgresError {
    /// Whether rows are to blame, and not the statement, the role or the server.
    fileprivate var isAboutRows: Bool {
        kind == .badData || kind == .conflict
    }
}
