/// A step that is next, and where it stands.
struct StepTask {
    let plan: MigrationPlan
    let checksum: String
    /// Whether it takes the file back.
    let isDown: Bool
    /// Its place among the file's steps, from 0.
    let index: Int

    var steps: [MigrationStep] { isDown ? plan.down : plan.up }

    var step: MigrationStep { steps[index] }

    var isLast: Bool { index + 1 == steps.count }

    /// The file's number as the record has it.
    var version: [UInt64] { plan.file.version.parts }

    /// Where a statement stands, for messages.
    func position(_ statement: SQLStatement?) -> String {
        let file =
            isDown && plan.file.downText != nil
            ? "the down file of \(plan.file.name)" : plan.file.name
        return "\(file) line \(statement?.line ?? step.line)"
    }
}
