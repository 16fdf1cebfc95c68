internal import Bulkhead
internal import Postgres

/// One batch, where it is to go, and what is true of its transaction.
struct LoadTask {
    let batch: ParsedBatch
    let file: FileInProgress
    let job: Int64
    /// How many rows may still be rejected.
    let rejectsLeft: Int64
    /// Whether the transaction ends with this batch: else what is deferred is left for its end.
    var isLastWord = true
    /// Whether all will be taken back, as far as it can be.
    var isDryRun = false
    let experience: LoadExperience
    let transaction: Batch

    var plan: ImportPlan { file.plan }
    var connection: Connection { transaction.connection }

    /// Checks what is deferred, unless that is for later.
    func checkDeferred() throws {
        guard isLastWord else { return }
        try connection.run(script: "set constraints all immediate")
    }

    /// From here on values are read as the file means them.
    func applyValueSettings() throws {
        for (name, value) in plan.valueSettings {
            try connection.query("select pg_catalog.set_config(\(name), \(value), true)")
        }
    }

    /// Only the file's values are meant otherwise: what triggers and defaults do, and how keys are printed,
    /// is the same for every import.
    func resetValueSettings() throws {
        for (name, _) in plan.valueSettings {
            let usual = name == "TimeZone" ? "UTC" : "ISO, YMD"
            try connection.query("select pg_catalog.set_config(\(name), \(usual), true)")
        }
    }

    /// Whether rows are to blame.
    ///
    /// Row security speaks of a row that it does not let in as of a missing
    /// privilege; those of the table were looked at before.
    func isAboutRows(_ error: PostgresError) -> Bool {
        error.isAboutRows || (plan.target.facts.hasRowSecurity && error.kind == .permission)
    }
}
