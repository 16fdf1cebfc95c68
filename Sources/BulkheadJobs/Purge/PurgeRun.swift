internal import Bulkhead
internal import Postgres

/// One attempt at a purge: table after table, batch after batch, from where the last attempt stopped; then sweeps
/// over what is left.
final class PurgeRun {
    private let context: JobContext
    private let arguments: PurgeArguments
    private let root: ImportRoot
    private let experience = PurgeExperience()
    /// The table that is being walked.
    private var ground: PurgeGround?
    /// How often the present batch has waited for a lock in vain.
    private var locked = 0
    private var rows: BatchSizer
    /// A batch looks at no more pages than it can read in its time, even where none of them holds a row for
    /// it.
    private var pages = BatchSizer(first: 256, in: 16...100_000)

    /// Many sweeps are only needed where rows refer to others of the same table.
    private static let mostSweeps = 1000

    init(_ context: JobContext, _ arguments: PurgeArguments, _ root: ImportRoot) throws {
        self.context = context
        self.arguments = arguments
        self.root = root
        rows = BatchSizer(fixed: arguments.batch)
    }

    func run() async throws -> JSONText? {
        let table = try await context.read { try PurgeTable($0, name: arguments.tableName) }
        let graph = try await context.read { try ReferenceGraph(table, $0) }
        if try PurgeProgress(context.progress) == nil { try await begin(table, graph) }
        let archive = try await makeArchive(table, graph)
        if arguments.dropPartitions == true {
            try await PartitionDrop(context, table, arguments).run()
        }
        while try await walk(table, graph, archive) {}
        try await finish(table)
        return context.progress.result
    }

    private func progress() throws -> PurgeProgress {
        guard let progress = try PurgeProgress(context.progress) else {
            throw JobFailure("the checkpoint of this purge is gone")
        }
        return progress
    }

    // MARK: The beginning

    /// Fixes what is to be deleted, before anything is.
    private func begin(_ table: PurgeTable, _ graph: ReferenceGraph) async throws {
        if arguments.force != true { try graph.requireIndexes() }
        let plan = try await context.read { connection in
            try PurgePlan(arguments, table, connection)
        }
        try await context.batch { batch in
            if arguments.archiveFile != nil {
                try batch.connection.query("select bulkhead.pin_job(\(context.job.id))")
            }
            let checkpoint = PurgeCheckpoint(condition: plan.condition, grounds: plan.grounds)
            return try PurgeProgress(checkpoint, expected: plan.expectedRows).stored()
        }
    }

    private func makeArchive(_ table: PurgeTable, _ graph: ReferenceGraph) async throws -> Archive? {
        guard arguments.archives else { return nil }
        return try await Archive(context, arguments, table, graph, root)
    }

    // MARK: Walking

    /// Deletes one batch; false when nothing is left to do.
    private func walk(
        _ table: PurgeTable,
        _ graph: ReferenceGraph,
        _ archive: Archive?
    ) async throws -> Bool {
        var progress = try progress()
        guard !progress.checkpoint.isSwept, room(progress) > 0 else { return false }
        guard progress.checkpoint.ground < progress.checkpoint.grounds.count else {
            progress.endPass(mostSweeps: Self.mostSweeps)
            let next = try progress.stored()
            try await context.batch { _ in next }
            return true
        }
        do {
            try await removeBatch(progress, table, graph, archive)
        } catch is GroundGone {
            progress.checkpoint.leaveGround()
            let next = try progress.stored()
            try await context.batch { _ in next }
        } catch is TableRewritten {
            // Places in the old file mean nothing in the new one.
            progress.checkpoint.position = nil
            ground = nil
            let next = try progress.stored()
            try await context.batch { _ in next }
        }
        return true
    }

    private func removeBatch(
        _ progress: PurgeProgress,
        _ table: PurgeTable,
        _ graph: ReferenceGraph,
        _ archive: Archive?
    ) async throws {
        let checkpoint = progress.checkpoint
        let ground = try await ground(checkpoint.grounds[checkpoint.ground], of: table)
        guard let position = try await position(on: ground, checkpoint, table) else {
            throw GroundGone()
        }
        let size = Removal.Size(rows: min(rows.rows, room(progress)), pages: pages.rows)
        locked = 0
        let took = try await context.batch(onFailure: noteFailure) { batch in
            let removal = Removal(
                ground: ground,
                position: position,
                condition: checkpoint.condition,
                size: size,
                // The first pass leaves them to the sweep, and the sweep to nobody.
                skipsLocked: locked > (checkpoint.sweep == 0 ? 0 : 1),
                archive: archive?.target(for: ground),
                job: context.job.id,
                batch: context.batches + 1
            )
            return try remove(removal, progress, graph, archive, batch).stored()
        }
        archive?.keep()
        try learn(from: progress, size, took)
    }

    private func ground(_ oid: Int64, of table: PurgeTable) async throws -> PurgeGround {
        if let ground, ground.oid == oid { return ground }
        let found = try await context.read { try PurgeGround(oid, of: table, $0) }
        ground = found
        return found
    }

    private func remove(
        _ removal: Removal,
        _ progress: PurgeProgress,
        _ graph: ReferenceGraph,
        _ archive: Archive?,
        _ batch: Batch
    ) throws -> PurgeProgress {
        let cascades = try Cascades(graph, batch.connection)
        let outcome = try BatchRemover(
            removal: removal,
            graph: graph,
            experience: experience,
            connection: batch.connection
        ).remove()
        guard outcome.filenode == removal.position.filenode else { throw TableRewritten() }
        var next = progress
        next.report.cascaded += try cascades.publish(batch)
        if let archive {
            let archived = try archive.record(removal.ground, outcome, batch)
            next.report.archived = (next.report.archived ?? 0) + archived
        }
        var name: String?
        if let left = outcome.left, progress.checkpoint.leftInPass.first == nil {
            name = try removal.ground.name(of: left, removal.position.way, batch.connection)
        }
        next.apply(outcome, of: removal, leftName: name)
        return next
    }

    private func noteFailure(_ error: PostgresError) {
        rows.failed(error)
        if error.state == .lockNotAvailable { locked += 1 }
    }

    /// Where the walk is, or where it begins; nil when there is nothing to walk.
    private func position(
        on ground: PurgeGround,
        _ checkpoint: PurgeCheckpoint,
        _ table: PurgeTable
    ) async throws -> WalkPosition? {
        if let position = checkpoint.position { return position }
        let way = try await context.read { try ground.way(checkpoint.condition, table, $0) }
        return way.map { WalkPosition(way: $0, filenode: ground.filenode) }
    }

    /// Rows that may still be deleted.
    private func room(_ progress: PurgeProgress) -> Int {
        arguments.maxRows.map { Int(clamping: max(0, $0 - progress.report.deleted)) } ?? .max
    }

    private func learn(
        from before: PurgeProgress,
        _ size: Removal.Size,
        _ took: Duration
    ) throws {
        let after = try progress()
        let deleted = Int(clamping: after.report.deleted - before.report.deleted)
        // A batch that met few rows tells nothing of what many take.
        if deleted * 2 >= size.rows { rows.took(took, rows: deleted) }
        if let seen = before.checkpoint.pages(until: after.checkpoint, most: size.pages) {
            pages.took(took, rows: seen)
        }
    }

    // MARK: The end

    private func finish(_ table: PurgeTable) async throws {
        if arguments.vacuum == true {
            try await context.read { connection in
                try connection.query(SQL(unsafe: "vacuum (analyze) \(table.name)"))
            }
        }
        let share = try await context.read { connection in
            try DeadRows.share(of: table, connection)
        }
        var progress = try progress()
        progress.settle(share)
        let last = try progress.stored()
        try await context.batch { _ in last }
    }
}

/// The table was written anew while it was walked.
private struct TableRewritten: Error {}
