internal import Bulkhead
internal import Postgres

/// The record of what was applied, `bulkhead.migration`.
struct MigrationLedger {
    let connection: Connection

    /// What is recorded of one file.
    struct FileRecord {
        /// Whether all of its steps are applied.
        var isWhole = false
        /// The steps that are applied.
        var applied: Set<Int> = []
        /// The steps that are applied and take it back.
        var takenBack: Set<Int> = []
    }

    /// Why the files cannot be applied to what was applied already; nil where they can.
    func refusal(_ job: Int64) throws -> String? {
        try connection.query(
            """
            select bulkhead.migration_refusal(args -> 'files', coalesce((args ->> 'complete')::boolean, false),
                (args ->> 'out_of_order')::boolean, args ? 'down')
            from bulkhead.job where id = \(job)
            """
        ).value(0, 0)
    }

    /// What is recorded, by the files' numbers.
    func files() throws -> [String: FileRecord] {
        let rows = try connection.query(
            """
            select bulkhead.version_text(version), is_down, step, state = 'applied', steps
            from bulkhead.migration
            """
        )
        var files: [String: FileRecord] = [:]
        for row in 0..<rows.count {
            let version: String = try rows.required(row, 0)
            var file = files[version] ?? FileRecord()
            if try rows.required(row, 3) {
                let step: Int = try rows.required(row, 2)
                if try rows.required(row, 1) {
                    file.takenBack.insert(step)
                } else {
                    file.applied.insert(step)
                    file.isWhole = file.applied.count == (try rows.required(row, 4, as: Int.self))
                }
            }
            files[version] = file
        }
        return files
    }

    /// The applied steps of a file that are no longer what was run, by their places from 1.
    func changedSteps(_ plan: MigrationPlan) throws -> [Int] {
        let rows = try connection.query(
            """
            select m.step from bulkhead.migration m
            left join unnest(\(plan.up.map(\.text))::text[]) with ordinality as t (text, n) on t.n = m.step
            where m.version = \(plan.file.version.parts.map(String.init))::numeric[] and not m.is_down
                and m.state = 'applied' and m.step_checksum <> coalesce(bulkhead.text_checksum(t.text), '')
            order by 1
            """
        )
        return try (0..<rows.count).map { try rows.required($0, 0) }
    }

    // MARK: One step

    /// Begins a step, or takes it up where it stopped.
    ///
    /// - Returns: How far it is, in its own terms; nil when it has just begun.
    func begin(_ task: StepTask, job: Int64) throws -> JSONText? {
        try connection.query(
            """
            select bulkhead.begin_step(\(key(task)), \(task.steps.count), \(task.plan.file.name),
                \(task.checksum), \(task.step.text), \(task.step.kind.name), \(task.step.line), \(job))
            """
        ).value(0, 0)
    }

    /// Notes how far a step is.
    func note(_ task: StepTask, rows: Int64 = 0, position: JSONText) throws {
        try connection.query("select bulkhead.note_step(\(key(task)), \(rows), \(position))")
    }

    func end(_ task: StepTask) throws {
        try connection.query("select bulkhead.end_step(\(key(task)))")
    }

    func fail(_ task: StepTask, _ error: String) throws {
        try connection.query("select bulkhead.fail_step(\(key(task)), \(error))")
    }

    private func key(_ task: StepTask) -> SQL {
        "\(task.version.map(String.init))::numeric[], \(task.isDown), \(task.index + 1)"
    }
}
