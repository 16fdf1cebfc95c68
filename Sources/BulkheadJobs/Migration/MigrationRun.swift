internal import Bulkhead
internal import Postgres

/// One attempt at a migration: step after step, as the record says what is next.
final class MigrationRun {
    private let context: JobContext
    private let arguments: MigrationArguments
    private let turn: MigrationTurn
    private let plans: [(plan: MigrationPlan, checksum: String)]

    /// Reads all files, so that one that is wrong fails the job before its first step.
    init(_ context: JobContext, _ arguments: MigrationArguments) throws {
        self.context = context
        self.arguments = arguments
        turn = MigrationTurn(context)
        plans = try arguments.files.map { file in
            let plan = try MigrationPlan(
                MigrationFile(name: file.name, text: file.text, downText: file.down)
            )
            return (plan, file.checksum)
        }.sorted { $0.plan.file.version < $1.plan.file.version }
    }

    func run() async throws -> JSONText? {
        try await turn.wait()
        while let task = try await next() {
            do {
                try await run(task)
            } catch is MigrationTurn.Lost {
                // Whoever had it meanwhile may have applied what was next here.
                try await turn.wait()
            }
        }
        return try MigrationReport(context.progress).stored().result
    }

    private func run(_ task: StepTask) async throws {
        let site = StepSite(context, arguments, turn, task)
        do {
            switch task.step.kind {
            case .transaction: try await TransactionStep(site).run()
            case .concurrently: try await OutsideStep(site).run()
            case .backfill(let backfill): try await BackfillStep(site, backfill).run()
            }
        } catch let failure as JobFailure {
            try await site.note(failure)
            throw failure
        }
    }

    // MARK: What is next

    private func next() async throws -> StepTask? {
        let (refusal, files) = try await context.read { connection in
            let ledger = MigrationLedger(connection: connection)
            return (try ledger.refusal(context.job.id), try ledger.files())
        }
        if let refusal { throw JobFailure(refusal) }
        return arguments.down == nil ? try await nextUp(files) : try nextDown(files)
    }

    private func nextUp(_ files: [String: MigrationLedger.FileRecord]) async throws -> StepTask? {
        for (plan, checksum) in plans where isWanted(plan.file.version) {
            let file = files[plan.file.version.description] ?? MigrationLedger.FileRecord()
            if file.isWhole { continue }
            let changed = try await context.read {
                try MigrationLedger(connection: $0).changedSteps(plan)
            }
            if let step = changed.first {
                throw JobFailure(
                    "step \(step) of \(plan.file.name) was applied and has been changed since: put it back as it "
                        + "was, or accept it as it is with --repair"
                )
            }
            if let index = plan.up.indices.first(where: { !file.applied.contains($0 + 1) }) {
                return StepTask(plan: plan, checksum: checksum, isDown: false, index: index)
            }
        }
        return nil
    }

    private func isWanted(_ version: MigrationVersion) -> Bool {
        guard let to = arguments.to else { return true }
        return !to.lexicographicallyPrecedes(version.parts)
    }

    /// The newest file first.
    private func nextDown(_ files: [String: MigrationLedger.FileRecord]) throws -> StepTask? {
        guard let down = arguments.down else { return nil }
        let recorded = files.keys.compactMap { MigrationVersion($0) }
            .filter { down.lexicographicallyPrecedes($0.parts) }
        guard let version = recorded.max() else { return nil }
        guard let (plan, checksum) = plans.first(where: { $0.plan.file.version == version }) else {
            throw JobFailure(
                "the applied file \(version) is to be taken back and is not among the files"
            )
        }
        guard !plan.down.isEmpty else {
            throw JobFailure(
                "\(plan.file.name) does not say how it is taken back: write it behind -- bulkhead: down"
            )
        }
        let takenBack = files[version.description]?.takenBack ?? []
        guard let index = plan.down.indices.first(where: { !takenBack.contains($0 + 1) }) else {
            return nil
        }
        return StepTask(plan: plan, checksum: checksum, isDown: true, index: index)
    }
}
