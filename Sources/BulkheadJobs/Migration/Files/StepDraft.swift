/// A step whose statements are still being collected.
struct StepDraft {
    /// What a comment says; nil where none does.
    private let kind: MigrationStep.Kind?
    private let line: Int?
    private var statements: [SQLStatement] = []
    var tables: [String]?

    init(kind: MigrationStep.Kind? = nil, line: Int? = nil) {
        self.kind = kind
        self.line = line
    }

    mutating func add(_ statement: SQLStatement) { statements.append(statement) }

    /// The finished step; nil where there is nothing to run.
    ///
    /// Whether it uses a transaction is asked only where no comment of ours says how it runs.
    func step(usesTransaction: Bool) throws(SQLFlaw) -> MigrationStep? {
        guard let first = statements.first else {
            guard let kind, let line else { return nil }
            throw SQLFlaw(message: "the \(kind.name) step holds no statement", line: line)
        }
        let kind = kind ?? Self.usual(statements, usesTransaction)
        return MigrationStep(
            kind: kind,
            line: line ?? first.line,
            statements: try checked(kind),
            namedTables: tables
        )
    }

    /// A file that holds nothing but what refuses a transaction means to run without one.
    private static func usual(
        _ statements: [SQLStatement],
        _ usesTransaction: Bool
    ) -> MigrationStep.Kind {
        usesTransaction && !statements.allSatisfy(\.refusesTransaction)
            ? .transaction : .concurrently
    }

    private func checked(_ kind: MigrationStep.Kind) throws(SQLFlaw) -> [SQLStatement] {
        switch kind {
        case .transaction: return try inTransaction()
        case .concurrently:
            try refuseControl("each statement of a concurrently step commits by itself")
            return statements
        case .backfill(let backfill):
            try refuseControl("each batch of a backfill commits by itself")
            guard let statement = statements.first, statements.count == 1 else {
                throw SQLFlaw(
                    message: "a backfill step holds one statement",
                    line: statements[1].line
                )
            }
            _ = try BackfillStatement(statement, walking: backfill.table)
            return statements
        }
    }

    /// Scripts for psql wrap themselves in BEGIN and COMMIT, which the step does anyway.
    private func inTransaction() throws(SQLFlaw) -> [SQLStatement] {
        var inner = statements[...]
        if let first = inner.first, first.opensTransaction, inner.count > 1,
            inner.last?.commits == true
        {
            inner = inner.dropFirst().dropLast()
        }
        for statement in inner {
            if statement.controlsTransaction {
                throw SQLFlaw(
                    message:
                        "the step is one transaction already: take \(statement.text) out, or part the file "
                        + "into steps with -- bulkhead: transaction",
                    line: statement.line
                )
            }
            if statement.refusesTransaction {
                throw SQLFlaw(
                    message:
                        "this statement cannot run in a transaction: give it a step of its own with "
                        + "-- bulkhead: concurrently",
                    line: statement.line
                )
            }
            if BatchPlace.isMeant(in: statement) {
                throw SQLFlaw(
                    message:
                        "{batch} stands in a step that is no backfill: put -- bulkhead: backfill TABLE before it",
                    line: statement.line
                )
            }
        }
        return Array(inner)
    }

    private func refuseControl(_ reason: String) throws(SQLFlaw) {
        guard let statement = statements.first(where: \.controlsTransaction) else { return }
        throw SQLFlaw(message: "\(reason): take \(statement.text) out", line: statement.line)
    }
}
