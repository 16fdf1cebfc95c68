internal import Postgres

/// Loads one batch inside its transaction.
///
/// A batch goes straight into the table where that is possible; else, and whenever a row is refused, by way
/// of a stage.
struct BatchLoader {
    let task: LoadTask

    /// Loads the batch.
    ///
    /// - Throws: `TooManyRejects`, `JobFailure` for a conflict that the policy does not allow, or what
    ///   the server said.
    func load() throws -> BatchOutcome {
        var outcome = BatchOutcome(
            task.batch,
            columns: task.plan.columns,
            file: task.file.file.name,
            allowed: task.rejectsLeft
        )
        try task.applyValueSettings()
        let experience = task.experience
        if experience.goesDirectly, !outcome.hasTooMany, try DirectLoad(task: task).run(&outcome) {
            experience.noteDirect(outcome)
            return outcome
        }
        if outcome.horizon > 0 { try StagedLoad(task).run(&outcome) }
        experience.noteStaged(outcome)
        if outcome.hasTooMany { throw TooManyRejects(rejects: outcome.rejects) }
        return outcome
    }
}

/// More rows were refused than the job allows.
struct TooManyRejects: Error {
    let rejects: [Reject]
}
