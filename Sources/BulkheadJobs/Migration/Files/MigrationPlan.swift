/// The steps of one migration's file.
package struct MigrationPlan: Sendable, Equatable {
    package let file: MigrationFile
    /// In the order in which they run; at least one, so that a file that only holds comments is recorded too.
    package let up: [MigrationStep]
    /// How to take the file back; empty where it does not say.
    package let down: [MigrationStep]

    /// Reads a file.
    ///
    /// - Throws: `MigrationError`, with the line.
    package init(_ file: MigrationFile) throws(MigrationError) {
        self.file = file
        var builder = try StepBuilder(file.text, file: file.name)
        let empty = MigrationStep(kind: .transaction, line: 1, statements: [], namedTables: nil)
        up = builder.up.isEmpty ? [empty] : builder.up
        guard let downText = file.downText else {
            down = builder.down
            return
        }
        builder = try StepBuilder(downText, file: "the down file of \(file.name)")
        down = builder.up
    }
}
