internal import Bulkhead
internal import Postgres

/// Loads a batch by way of a stage: one statement moves its rows into the table, and what the server refuses
/// is narrowed down to the rows to blame.
struct StagedLoad {
    private let task: LoadTask
    private let stage: any StagedRows
    private let missing: MissingKeys
    private var plan: ImportPlan { task.plan }
    private var batch: ParsedBatch { task.batch }
    private var connection: Connection { task.connection }
    private var experience: LoadExperience { task.experience }
    private var all: RowSelection { .range(0...batch.rows.count - 1) }

    init(_ task: LoadTask) {
        self.task = task
        missing = task.batch.missingKeys
        stage =
            task.plan.target.facts.mayMakeTemporaryTables
            ? StageTable(task: task) : SentRows(task: task)
    }

    /// Loads the batch, and notes the rows that are refused.
    func run(_ outcome: inout BatchOutcome) throws {
        // Rows are sorted to keep the order of the file: not by way of the disk.
        try connection.query(
            """
            select pg_catalog.set_config('work_mem', '32MB', true)
            where pg_catalog.pg_size_bytes(pg_catalog.current_setting('work_mem')) < 33554432
            """
        )
        try stage.fill(&outcome)
        if plan.target.facts.mayMakeTemporaryTables { try task.resetValueSettings() }
        for sieve in experience.sieves { _ = try sift(with: sieve, &outcome) }
        try mergeAll(&outcome)
        guard !outcome.hasTooMany else { return }
        try moveSequences(outcome)
        guard !plan.returnsKeys else { return }
        if outcome.merged.inserted > 0 {
            try task.transaction.publish(.insert, of: plan.target.relation, ids: nil)
        }
        if outcome.merged.updated > 0 {
            try task.transaction.publish(.update, of: plan.target.relation, ids: nil)
        }
    }

    private func mergeAll(_ outcome: inout BatchOutcome) throws {
        var settling = false
        while true {
            var attempt = outcome
            do {
                try connection.savepoint {
                    for round in try rounds() {
                        try merge(round, &attempt, settling: settling)
                    }
                    try task.checkDeferred()
                }
                outcome = attempt
                return
            } catch let error as PostgresError where task.isAboutRows(error) && !settling {
                // A deferred constraint: its error names no row, so each part is checked from here on,
                // unless one statement finds them.
                outcome = attempt
                outcome.merged = .init(unchanged: 0)
                if try !sift(error, &outcome) { settling = true }
            } catch is RepeatedKeys {
                experience.hasRepeatedKeys = true
            }
        }
    }

    // MARK: Rounds

    /// All rows at once, or less where keys repeat, since one statement changes a row only once.
    private func rounds() throws -> [Round] {
        guard plan.policy.changesRows, experience.hasRepeatedKeys else {
            return [Round(rows: all)]
        }
        let columns = plan.key.columns.map(plan.stagedName).joined(separator: ", ")
        let rows = try connection.query(
            """
            select n, before from (
                select s.bulkhead_n as n,
                    lag(s.bulkhead_n) over (partition by \(unsafe: columns) order by s.bulkhead_n) as before
                from \(stage.source(all, without: [])) where \(unsafe: isKeyed)) as numbered
            where before is not null
            order by n
            """
        )
        let repeated = try (0..<rows.count).map { row in
            (
                row: try rows.required(row, 0, as: Int.self),
                before: try rows.required(row, 1, as: Int.self)
            )
        }
        guard !repeated.isEmpty else { return [Round(rows: all)] }
        // Which of two rows with one value is refused depends on which comes first.
        return plan.target.facts.hasSeveralUniqueIndexes
            ? stretches(repeated) : waves(repeated)
    }

    /// First the rows in which each key comes for the first time, then those in which it comes for the
    /// second, and so on.
    private func waves(_ repeated: [(row: Int, before: Int)]) -> [Round] {
        var waveOf: [Int: Int] = [:]
        var later: [[Int]] = []
        for (row, before) in repeated {
            let wave = waveOf[before].map { $0 + 1 } ?? 0
            waveOf[row] = wave
            if wave == later.count { later.append([]) }
            later[wave].append(row)
        }
        let first = Round(rows: all, without: repeated.map(\.row))
        return [first] + later.map { Round(rows: .list($0)) }
    }

    /// Rows that stand together in the file, as long as no key repeats.
    private func stretches(_ repeated: [(row: Int, before: Int)]) -> [Round] {
        var rounds: [Round] = []
        var start = 0
        for (row, before) in repeated where before >= start {
            rounds.append(Round(rows: .range(start...row - 1)))
            start = row
        }
        return rounds + [Round(rows: .range(start...batch.rows.count - 1))]
    }

    /// NULL equals nothing, mostly not even NULL.
    private var isKeyed: String {
        guard !plan.key.nullsAreEqual else { return "true" }
        return plan.key.columns.map { "\(plan.stagedName($0)) is not null" }.joined(
            separator: " and "
        )
    }

    /// Rows that one statement may move.
    private struct Round {
        var rows: RowSelection
        var without: [Int] = []

        func with(_ rows: RowSelection) -> Round {
            Round(rows: rows, without: without)
        }
    }

    /// The same key came twice in one statement.
    private struct RepeatedKeys: Error {}

    // MARK: Parts

    /// Moves rows into the table, and finds out which of them are refused.
    ///
    /// With `settling`, deferred constraints are checked for each part.
    private func merge(_ round: Round, _ outcome: inout BatchOutcome, settling: Bool) throws {
        if case .range(let rows) = round.rows, experience.followsRows, let trace = try stage.trace()
        {
            return try follow(rows, of: round, trace, &outcome, settling: settling)
        }
        do {
            try move(round, outcome.refused(in: round.rows), nil, &outcome, settling: settling)
        } catch let error as PostgresError where isAboutPart(error) {
            if try isExplained(error, &outcome) {
                try merge(round, &outcome, settling: settling)
            } else if case .range(let rows) = round.rows, let trace = try stage.trace() {
                experience.followsRows = true
                try follow(rows, of: round, trace, &outcome, settling: settling)
            } else {
                try halve(round, error, &outcome, settling: settling)
            }
        }
    }

    /// Moves rows piece by piece, and has the server note which row it is at: so that it is known which one
    /// it refused.
    private func follow(
        _ rows: ClosedRange<Int>,
        of round: Round,
        _ trace: String,
        _ outcome: inout BatchOutcome,
        settling: Bool
    ) throws {
        var next = rows.lowerBound
        var size = 256
        while next < min(rows.upperBound + 1, outcome.horizon) {
            let end = min(next + size, rows.upperBound + 1, outcome.horizon)
            let piece = round.with(.range(next...end - 1))
            let before = outcome.refused.count
            try follow(piece, trace, &outcome, settling: settling)
            // A piece is begun anew for each refused row: a few of them cost less than as many pieces.
            let refused = outcome.refused.count - before
            if refused > 8 { size = max(16, size / 2) }
            if refused < 2 { size = min(8192, size * 2) }
            next = end
        }
    }

    /// Rows before a refused one are moved for good before it is judged: what it collides with may itself be
    /// refused, for a reason that shows only at the end of a statement.
    private func follow(
        _ piece: Round,
        _ trace: String,
        _ outcome: inout BatchOutcome,
        settling: Bool
    ) throws {
        var left = piece
        while true {
            let refused = outcome.refused(in: left.rows)
            do {
                return try move(left, refused, trace, &outcome, settling: settling)
            } catch let error as PostgresError where isAboutPart(error) {
                if try isExplained(error, &outcome) { continue }
                let kept = left.rows.numbers(without: refused + left.without)
                // At the last row it may as well have been at the end of the statement. A row that a trigger
                // gave the key of another only needs a statement of its own.
                guard error.state != .cardinalityViolation, let row = try stage.traced(),
                    let first = kept.first, let last = kept.last, kept.contains(row), row != last
                else {
                    return try halve(left, error, &outcome, settling: settling)
                }
                let before = outcome.refused.count
                if first < row {
                    let good = left.with(.range(first...row - 1))
                    try follow(good, trace, &outcome, settling: settling)
                }
                if outcome.refused.count == before { try refuse(row, error, &outcome) }
                left = left.with(.range(row...last))
            }
        }
    }

    /// Halves a part that is refused until the rows to blame are alone.
    private func halve(
        _ part: Round,
        _ error: PostgresError,
        _ outcome: inout BatchOutcome,
        settling: Bool
    ) throws {
        guard part.rows.count > 1 else {
            let kept = part.rows.numbers(without: part.without)
            if let row = kept.first { try refuse(row, error, &outcome) }
            return
        }
        for rows in part.rows.halves {
            let half = part.with(rows)
            do {
                try move(half, outcome.refused(in: rows), nil, &outcome, settling: settling)
            } catch let error as PostgresError where isAboutPart(error) {
                try halve(half, error, &outcome, settling: settling)
            }
        }
    }

    /// Moves rows into the table by one statement: all of them, or none.
    private func move(
        _ round: Round,
        _ refused: [Int],
        _ trace: String?,
        _ outcome: inout BatchOutcome,
        settling: Bool
    ) throws {
        guard let rows = round.rows.before(outcome.horizon) else { return }
        let left = refused + round.without
        guard left.count < rows.count || !rows.numbers(without: left).isEmpty else { return }
        var merged = MergeCounts()
        try connection.savepoint {
            merged = try MergeStatement(plan, missing: missing, trace: trace).run(
                stage.source(rows, without: left),
                job: task.job,
                connection
            )
            if settling { try connection.run(script: "set constraints all immediate") }
        }
        outcome.merged = outcome.merged + merged
    }

    private func isAboutPart(_ error: PostgresError) -> Bool {
        task.isAboutRows(error) || error.state == .cardinalityViolation
    }

    /// Whether other rows than before would be moved now.
    private func isExplained(_ error: PostgresError, _ outcome: inout BatchOutcome) throws -> Bool {
        if error.state == .cardinalityViolation, !experience.hasRepeatedKeys {
            throw RepeatedKeys()
        }
        return try sift(error, &outcome)
    }

    // MARK: Refused rows

    private func refuse(_ row: Int, _ error: PostgresError, _ outcome: inout BatchOutcome) throws {
        if error.kind == .conflict, try plan.isKeyConflict(error, connection) {
            let position = "\(task.file.file.name) line \(batch.rows[row].line)"
            let detail = error.detail.map { " (\($0))" } ?? ""
            throw JobFailure(
                "\(position): \(error.message)\(detail); the rows of earlier batches stay; "
                    + "--on-conflict skip would keep the stored row, update would change it",
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

    /// Refuses all staged rows that violate the constraint of an error, by one statement.
    ///
    /// - Returns: Whether there were any.
    private func sift(_ error: PostgresError, _ outcome: inout BatchOutcome) throws -> Bool {
        guard outcome.horizon > 0, let sieve = try Sieve(error, plan, connection),
            try sift(with: sieve, &outcome)
        else { return false }
        experience.add(sieve)
        return true
    }

    private func sift(with sieve: Sieve, _ outcome: inout BatchOutcome) throws -> Bool {
        // What a row says nothing of is not NULL, but what the table makes of it.
        guard let near = all.before(outcome.horizon), !missing.contains(anyOf: sieve.columns) else {
            return false
        }
        do {
            let refused = try sieve.refused(
                stage.source(near, without: outcome.refused(in: near)),
                among: stage.source(all, without: outcome.refused(in: all)),
                plan,
                connection
            )
            for row in refused { sieve.refuse(row, &outcome) }
            return !refused.isEmpty
        } catch let failure as PostgresError
            where failure.kind == .permission || failure.kind == .permanent
            || task.isAboutRows(failure)
        {
            // The role may not look, the condition speaks of the whole row, or a value makes it fail:
            // halving finds all.
            return false
        }
    }

    // MARK: Sequences

    /// Moves the sequences of filled columns past the values that came from the file, never back.
    ///
    /// A dry run does not: nothing takes that back.
    private func moveSequences(_ outcome: BatchOutcome) throws {
        guard !task.isDryRun else { return }
        for (index, column) in plan.columns.enumerated() {
            guard let sequence = column.sequence, !missing.everywhere.contains(index) else {
                continue
            }
            let value = "s.bulkhead_c\(index + 1)"
            try connection.query(
                """
                select bulkhead.advance_sequence(\(sequence)::regclass, max(\(unsafe: value))::numeric)
                from \(stage.source(all, without: outcome.refused(in: all)))
                """
            )
        }
    }
}
