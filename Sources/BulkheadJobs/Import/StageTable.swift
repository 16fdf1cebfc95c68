internal import Postgres

/// Rows staged in a temporary table: COPY checks their values, and says where it found a bad one.
struct StageTable: StagedRows {
    let task: LoadTask
    private var plan: ImportPlan { task.plan }
    private var batch: ParsedBatch { task.batch }
    private var connection: Connection { task.connection }

    /// Copies the rows, in as large pieces as go through.
    ///
    /// A refused row names its line; what stands before it is good, so the whole takes two passes
    /// at most, however many are bad. Where one is bad more may be, and most of them can be told beforehand.
    func fill(_ outcome: inout BatchOutcome) throws {
        try connection.run(script: plan.createStage)
        // Another batch of the transaction may have been staged before.
        if !task.isLastWord { try connection.run(script: plan.emptyStage) }
        var next = 0
        if task.experience.screensValues, outcome.screened == 0 {
            try SuspectValues.judge(task, from: next, &outcome)
        }
        var piece = outcome.horizon
        while next < outcome.horizon {
            let end = min(next + piece, outcome.horizon)
            do {
                try connection.savepoint { try copy(next..<end, outcome) }
                next = end
                piece *= 2
            } catch let error as PostgresError {
                let refusal = CopyRefusal(error.context, table: plan.stage)
                // A value may be refused as a name, or as an expression that cannot be parsed.
                let isAboutValue = error.kind == .permanent && refusal?.column != nil
                guard error.isAboutRows || isAboutValue else { throw error }
                if outcome.screened < end {
                    let before = outcome.refused.count
                    try SuspectValues.judge(task, from: max(next, outcome.screened), &outcome)
                    if outcome.refused.count > before { continue }
                }
                let sent = (next..<end).filter { !outcome.refused.contains($0) }
                guard let refusal, sent.indices.contains(refusal.line - 1) else {
                    if let row = sent.first, sent.count == 1 {
                        outcome.refuse(row, error, column: nil)
                        next = end
                    }
                    piece = max(1, (end - next) / 2)
                    continue
                }
                let bad = sent[refusal.line - 1]
                if bad > next { try connection.savepoint { try copy(next..<bad, outcome) } }
                outcome.refuse(bad, error, column: refusal.column.map { $0 - 1 })
                piece = max(16, (bad - next) * 2)
                next = bad + 1
            }
        }
        task.experience.screensValues = outcome.screened > 0
    }

    func source(_ rows: RowSelection, without refused: [Int]) -> SQL {
        let chosen: SQL =
            switch rows {
            case .range(let range):
                "between \(range.lowerBound) and \(range.upperBound)"
            case .list(let rows):
                "= any (\(rows)::int[])"
            }
        let others: SQL = refused.isEmpty ? "" : "and bulkhead_n <> all (\(refused)::int[])"
        return """
            (select * from \(unsafe: "pg_temp.\(plan.stage)")
             where bulkhead_n \(chosen) \(others)) as s
            """
    }

    /// A sequence keeps what it was set to when a statement is rolled back.
    func trace() throws -> String? {
        try connection.run(script: plan.createTrace)
        return plan.trace
    }

    func traced() throws -> Int? {
        try connection.query("select last_value - 1 from \(unsafe: plan.trace)").value(0, 0)
    }

    func blame(_ row: Int) -> Int? { nil }

    private func copy(_ rows: Range<Int>, _ outcome: BatchOutcome) throws {
        var buffer: [UInt8] = []
        try connection.copyIn(plan.copyIntoStage) { writer in
            for row in rows where !outcome.refused.contains(row) {
                buffer += String(row).utf8
                buffer.append(Byte.tab)
                if plan.mayMissKeys {
                    buffer += batch.missingText(of: row).utf8
                    buffer.append(Byte.tab)
                }
                buffer += batch.text(of: row)
                if buffer.count > 1 << 16 {
                    try writer.write(buffer)
                    buffer.removeAll(keepingCapacity: true)
                }
            }
            try writer.write(buffer)
        }
    }
}
