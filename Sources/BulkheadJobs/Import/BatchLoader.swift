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
    private let isLastWord: Bool
    private let isDryRun: Bool
    private let stage: any StagedRows
    private let missing: MissingKeys
    private let experience: LoadExperience
    private var connection: Connection { transaction.connection }

    /// Prepares to load a batch of a file, of which so many rows may still be rejected.
    ///
    /// With `isLastWord` false, what is deferred is left for the end of the transaction.
    init(
        _ batch: ParsedBatch,
        _ file: FileInProgress,
        job: Int64,
        rejectsLeft: Int64,
        isLastWord: Bool = true,
        isDryRun: Bool = false,
        experience: LoadExperience,
        in transaction: Batch
    ) {
        self.batch = batch
        plan = file.plan
        self.file = file.file.name
        self.job = job
        self.rejectsLeft = rejectsLeft
        self.isLastWord = isLastWord
        self.isDryRun = isDryRun
        self.experience = experience
        missing = batch.missingKeys
        self.transaction = transaction
        let connection = transaction.connection
        stage =
            file.plan.target.facts.mayMakeTemporaryTables
            ? StageTable(
                plan: file.plan,
                batch: batch,
                connection: connection,
                experience: experience,
                isReused: !isLastWord
            )
            : SentRows(plan: file.plan, batch: batch, connection: connection)
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
        for (name, value) in plan.valueSettings {
            try connection.query("select pg_catalog.set_config(\(name), \(value), true)")
        }
        if plan.isDirect, !batch.hasMissing, experience.goesDirectly, !outcome.hasTooMany,
            !batch.rows.isEmpty, try loadDirectly()
        {
            outcome.merged.inserted = batch.rows.count
            return outcome
        }
        if outcome.horizon > 0 { try loadStaged(&outcome) }
        experience.note(isClean: outcome.refused.isEmpty)
        if outcome.hasTooMany { throw TooManyRejects(rejects: outcome.rejects) }
        return outcome
    }

    private func checkDeferred() throws {
        guard isLastWord else { return }
        try connection.run(script: "set constraints all immediate")
    }

    /// Only the file's values are meant otherwise: what triggers and defaults do, and how keys are printed,
    /// is the same for every import.
    private func resetValueSettings() throws {
        for (name, _) in plan.valueSettings {
            let usual = name == "TimeZone" ? "UTC" : "ISO, YMD"
            try connection.query("select pg_catalog.set_config(\(name), \(usual), true)")
        }
    }

    // MARK: Straight into the table

    /// - Returns: Whether it went in; if not, nothing is changed.
    private func loadDirectly() throws -> Bool {
        guard plan.target.primaryKey.isEmpty || batch.ids != nil,
            let sequences = greatestInSequences()
        else { return false }
        do {
            try connection.savepoint {
                try connection.copyIn(plan.copyIntoTarget) { try $0.write(batch.text) }
                try resetValueSettings()
                try checkDeferred()
            }
        } catch let error as PostgresError where isAboutRows(error) || error.kind == .permanent {
            // Values may also be refused as names or expressions; the stage tells them from the rest.
            return false
        }
        for (sequence, value) in sequences where !isDryRun {
            try connection.query(
                "select bulkhead.advance_sequence(\(sequence)::regclass, \(value))"
            )
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

    /// The greatest value of each column that owns a sequence; nil when the server must be asked.
    private func greatestInSequences() -> [(sequence: String, value: Int64)]? {
        var greatest: [(sequence: String, value: Int64)] = []
        for (index, column) in plan.columns.enumerated() {
            guard let sequence = column.sequence else { continue }
            guard let value = batch.greatestInteger(in: index) else { return nil }
            greatest.append((sequence, value))
        }
        return greatest
    }

    // MARK: By way of the stage

    private var all: RowSelection { .range(0...batch.rows.count - 1) }

    private func loadStaged(_ outcome: inout BatchOutcome) throws {
        // Rows are sorted to keep the order of the file: not by way of the disk.
        try connection.query(
            """
            select pg_catalog.set_config('work_mem', '32MB', true)
            where pg_catalog.pg_size_bytes(pg_catalog.current_setting('work_mem')) < 33554432
            """
        )
        try stage.fill(&outcome)
        if plan.target.facts.mayMakeTemporaryTables { try resetValueSettings() }
        for sieve in experience.sieves { _ = try sift(with: sieve, &outcome) }
        var settling = false
        while true {
            var attempt = outcome
            do {
                try connection.savepoint {
                    for rows in try rounds() {
                        try merge(rows, &attempt, settling: settling)
                    }
                    try checkDeferred()
                }
                outcome = attempt
                break
            } catch let error as PostgresError where isAboutRows(error) && !settling {
                // A deferred constraint: its error names no row, so each range is checked from here on,
                // unless one statement finds them.
                outcome = attempt
                outcome.merged = .init(unchanged: 0)
                if try !sift(error, &outcome) { settling = true }
            } catch is RepeatedKeys {
                experience.hasRepeatedKeys = true
            }
        }
        guard !outcome.hasTooMany else { return }
        try moveSequences(outcome)
        guard !plan.returnsKeys else { return }
        if outcome.merged.inserted > 0 {
            try transaction.publish(.insert, of: plan.target.relation, ids: nil)
        }
        if outcome.merged.updated > 0 {
            try transaction.publish(.update, of: plan.target.relation, ids: nil)
        }
    }

    /// All rows at once; where keys repeat, first the rows in which each comes for the first time, then those
    /// in which it comes for the second, and so on, since one statement changes a row only once.
    private func rounds() throws -> [Round] {
        guard plan.policy.changesRows, experience.hasRepeatedKeys else {
            return [Round(rows: all)]
        }
        let columns = plan.key.columns.map(plan.stagedName).joined(separator: ", ")
        let rows = try connection.query(
            """
            select n, round from (
                select s.bulkhead_n as n,
                    row_number() over (partition by \(unsafe: columns) order by s.bulkhead_n) as round
                from \(stage.source(all, without: [])) where \(unsafe: isKeyed)) as numbered
            where round > 1
            order by n
            """
        )
        var later: [Int: [Int]] = [:]
        for row in 0..<rows.count {
            later[try rows.required(row, 1), default: []].append(try rows.required(row, 0))
        }
        let first = Round(rows: all, without: later.values.flatMap(\.self))
        return [first] + later.sorted { $0.key < $1.key }.map { Round(rows: .list($0.value)) }
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
    }

    /// The same key came twice in one statement.
    private struct RepeatedKeys: Error {}

    /// Moves staged rows into the table; a part that is refused is halved until the rows to blame are
    /// alone.
    ///
    /// With `settling`, deferred constraints are checked for each part.
    private func merge(_ round: Round, _ outcome: inout BatchOutcome, settling: Bool) throws {
        guard let rows = round.rows.before(outcome.horizon) else { return }
        let left = outcome.refused(in: rows) + round.without
        guard left.count < rows.count || !rows.numbers(without: left).isEmpty else { return }
        do {
            let source = stage.source(rows, without: left)
            var merged = MergeCounts()
            try connection.savepoint {
                merged = try MergeStatement(plan, missing: missing).run(
                    source,
                    job: job,
                    connection
                )
                if settling { try connection.run(script: "set constraints all immediate") }
            }
            outcome.merged = outcome.merged + merged
        } catch let error as PostgresError
            where isAboutRows(error) || error.state == .cardinalityViolation
        {
            if error.state == .cardinalityViolation, !experience.hasRepeatedKeys {
                throw RepeatedKeys()
            } else if try sift(error, &outcome) {
                try merge(round, &outcome, settling: settling)
            } else if rows.count > 1 {
                for half in rows.halves {
                    let part = Round(rows: half, without: round.without)
                    try merge(part, &outcome, settling: settling)
                }
            } else if let row = rows.numbers(without: left).first {
                try refuse(row, error, &outcome)
            }
        }
    }

    private func refuse(_ row: Int, _ error: PostgresError, _ outcome: inout BatchOutcome) throws {
        if error.kind == .conflict, try plan.isKeyConflict(error, connection) {
            let position = "\(file) line \(batch.rows[row].line)"
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
            where failure.kind == .permission || failure.kind == .permanent || isAboutRows(failure)
        {
            // The role may not look, the condition speaks of the whole row, or a value makes it fail:
            // halving finds all.
            return false
        }
    }

    /// Moves the sequences of filled columns past the values that came from the file, never back.
    ///
    /// A dry run does not: nothing takes that back.
    private func moveSequences(_ outcome: BatchOutcome) throws {
        guard !isDryRun else { return }
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
