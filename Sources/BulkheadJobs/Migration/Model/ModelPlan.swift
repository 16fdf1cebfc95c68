/// What brings a schema from one model to another, as steps of a migration.
public struct ModelPlan: Sendable {
    /// The steps in their order.
    public private(set) var steps: [Step] = []
    /// What cannot be inferred, each with what to write by hand.
    public internal(set) var problems: [String] = []
    /// What was left as it is, and why.
    public internal(set) var notes: [String] = []

    /// One step of the plan.
    public struct Step: Sendable, Equatable {
        /// What stands behind `-- bulkhead:`.
        public let mark: String
        /// What it is for.
        public let reason: String
        /// The statements.
        public let statements: [String]
    }

    /// Whether there is nothing to do.
    public var isEmpty: Bool { steps.isEmpty && problems.isEmpty }

    mutating func add(_ mark: String, _ reason: String, _ statements: [String]) {
        steps.append(Step(mark: mark, reason: reason, statements: statements))
    }

    mutating func transaction(_ reason: String, _ statements: String...) {
        add("transaction", reason, statements)
    }

    mutating func concurrently(_ reason: String, _ statement: String) {
        add("concurrently", reason, [statement])
    }

    /// The plan as a migration file.
    public var text: String {
        steps.map { step in
            "-- bulkhead: \(step.mark)\n-- \(step.reason)\n"
                + step.statements.map { "\($0);\n" }.joined()
        }.joined(separator: "\n")
    }
}
