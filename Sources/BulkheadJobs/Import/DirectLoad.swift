internal import Bulkhead
internal import Postgres

/// Copies a batch straight into the table; the keys for the feed come from the file.
struct DirectLoad {
    let task: LoadTask
    private var plan: ImportPlan { task.plan }
    private var batch: ParsedBatch { task.batch }
    private var connection: Connection { task.connection }
    private var transaction: Batch { task.transaction }

    /// Loads the batch where that can be done in this way, but for the rows that are refused.
    ///
    /// Values that look odd are shown to the server beforehand, where some have been bad.
    ///
    /// - Returns: Whether it went in; if not, nothing is changed.
    func run(_ outcome: inout BatchOutcome) throws -> Bool {
        guard plan.isDirect, !batch.hasMissing, !batch.rows.isEmpty else { return false }
        if task.experience.screensValues {
            try SuspectValues.judgeAll(of: task, &outcome)
            if outcome.hasTooMany { return false }
        }
        let refused = outcome.refused
        guard let lists = plan.target.primaryKey.isEmpty ? [] : batch.ids?.lists(without: refused),
            let sequences = greatestInSequences(without: refused)
        else { return false }
        do {
            try connection.savepoint {
                let copied = try connection.copyIn(plan.copyIntoTarget) {
                    try $0.write(batch.text(without: refused))
                }
                guard copied == batch.rows.count - refused.count else { throw DroppedRows() }
                try task.resetValueSettings()
                try task.checkDeferred()
            }
        } catch let error as PostgresError where task.isAboutRows(error) || error.kind == .permanent
        {
            // Values may also be refused as names or expressions; the stage tells them from the rest.
            return false
        } catch is DroppedRows {
            return false
        }
        for (sequence, value) in sequences where !task.isDryRun {
            try connection.query(
                "select bulkhead.advance_sequence(\(sequence)::regclass, \(value))"
            )
        }
        outcome.merged.inserted = batch.rows.count - refused.count
        if plan.target.primaryKey.isEmpty, outcome.merged.inserted > 0 {
            try transaction.publish(.insert, of: plan.target.relation, ids: nil)
        }
        for ids in lists {
            let ids = JSONText(String(decoding: ids, as: UTF8.self))
            try transaction.publish(.insert, of: plan.target.relation, ids: ids)
        }
        return true
    }

    /// A trigger that was made meanwhile dropped some: which ones, only the stage tells.
    private struct DroppedRows: Error {}

    /// The greatest value of each column that owns a sequence; nil when the server must be asked.
    private func greatestInSequences(
        without refused: Set<Int>
    ) -> [(sequence: String, value: Int64)]? {
        var greatest: [(sequence: String, value: Int64)] = []
        for (index, column) in plan.columns.enumerated() {
            guard let sequence = column.sequence else { continue }
            guard let value = batch.greatestInteger(in: index, without: refused) else { return nil }
            greatest.append((sequence, value))
        }
        return greatest
    }
}
