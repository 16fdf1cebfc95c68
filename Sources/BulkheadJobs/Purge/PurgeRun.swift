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

    init(_ context: JobContext, _ arguments: PurgeArguments, _ root: ImportRoot) {
        self.context = context
        self.arguments = arguments
        self.root = root
        rows = BatchSizer(fixed: arguments.batch)
    }

    func run() async throws -> JSONText? {
        try await context.works(on: [arguments.tableName])
        let table = try await context.read { try PurgeTable($0, name: arguments.tableName) }
        let graph = try await context.read { try ReferenceGraph(table, $0) }
        let isNew = try PurgeProgress(context.progress) == nil
        if isNew, arguments.force != true { try graph.requireIndexes() }
        let site = try await context.read { connection in
            try PurgeSite(table, graph, arguments, context, root, connection)
        }
        if isNew { try await begin(table) }
        let begun = try context.purgeProgress()
        try await context.read { try require(table, begun, $0) }
        if arguments.dropPartitions == true, let column = arguments.columnName {
            try await PartitionDrop(context, table, column: column).run()
        }
        while try await walk(site) {}
        try site.archive?.close()
        try await finish(table)
        return context.progress.result
    }

    /// Fixes what is to be deleted, before anything is.
    private func begin(_ table: PurgeTable) async throws {
        let plan = try await context.read { try PurgePlan(arguments, table, $0) }
        try await context.batch { batch in
            if arguments.archiveFile != nil {
                try batch.connection.query("select bulkhead.pin_job(\(context.job.id))")
            }
            let checkpoint = PurgeCheckpoint(
                table: table.oid,
                condition: plan.condition.sql,
                cutoff: plan.condition.cutoff,
                grounds: plan.grounds
            )
            return try PurgeProgress(checkpoint, expected: plan.expectedRows).stored()
        }
    }

    // MARK: Walking

    /// Deletes one batch; false when nothing is left to do.
    private func walk(_ site: PurgeSite) async throws -> Bool {
        var progress = try context.purgeProgress()
        guard !progress.checkpoint.isSwept, room(progress) > 0 else { return false }
        guard progress.checkpoint.ground < progress.checkpoint.grounds.count else {
            progress.endPass()
            try await context.commit(progress)
            return true
        }
        do {
            try await removeBatch(progress, site)
        } catch is GroundGone {
            try await leaveGround(progress, site.table)
        } catch let error as PostgresError where error.state == .undefinedTable {
            try await context.read { try require(site.table, progress, $0) }
            let oid = progress.checkpoint.grounds[progress.checkpoint.ground]
            guard try await context.read({ try PurgeGround.isGone(oid, $0) }) else { throw error }
            try await leaveGround(progress, site.table)
        } catch is TableRewritten {
            // Places in the old file mean nothing in the new one.
            progress.checkpoint.position = nil
            ground = nil
            try await context.commit(progress)
        }
        return true
    }

    /// A partition may go; the table itself may not, nor give its name to another one.
    private func leaveGround(_ progress: PurgeProgress, _ table: PurgeTable) async throws {
        try await context.read { try require(table, progress, $0) }
        let oid = progress.checkpoint.grounds[progress.checkpoint.ground]
        let present = try await context.read { connection in
            try table.leaves.contains(oid) && !PurgeGround.isGone(oid, connection)
                ? PurgeGround(oid, of: table, connection) : nil
        }
        if let present, present.name != ground?.name {
            // It has another name now, and is walked under that.
            ground = present
            return
        }
        var next = progress
        next.checkpoint.leaveGround()
        ground = nil
        try await context.commit(next)
    }

    private func require(
        _ table: PurgeTable,
        _ progress: PurgeProgress,
        _ connection: Connection
    ) throws {
        let present: Int64? = try connection.query(
            "select pg_catalog.to_regclass(\(table.name))::oid::bigint"
        ).value(0, 0)
        guard present != progress.checkpoint.table else { return }
        throw JobFailure(
            "\(table.name) was dropped, renamed or replaced while it was purged; \(progress.report.deleted) rows had been "
                + "deleted by then: look at what is there now, and enqueue a new purge for it"
        )
    }

    private func removeBatch(_ progress: PurgeProgress, _ site: PurgeSite) async throws {
        let checkpoint = progress.checkpoint
        let ground = try await ground(checkpoint.grounds[checkpoint.ground], of: site.table)
        guard let position = try await position(on: ground, checkpoint, site.table) else {
            throw GroundGone()
        }
        let size = Removal.Size(rows: min(rows.rows, room(progress)), pages: pages.rows)
        locked = 0
        let took = try await context.batch(onFailure: noteFailure) { batch in
            let removal = Removal(
                ground: try site.present(ground, batch.connection),
                position: position,
                condition: checkpoint.condition,
                size: size,
                // The first pass leaves them to the sweep, and the sweep to nobody.
                skipsLocked: locked > (checkpoint.sweep == 0 ? 0 : 1),
                archive: site.archive?.target(site.table.oid),
                job: context.job.id,
                batch: context.batches + 1
            )
            return try site.remove(removal, experience, progress, batch).stored()
        }
        site.archive?.keep()
        try learn(from: progress, size, took)
    }

    private func ground(_ oid: Int64, of table: PurgeTable) async throws -> PurgeGround {
        if let ground, ground.oid == oid { return ground }
        let found = try await context.read { try PurgeGround(oid, of: table, $0) }
        ground = found
        return found
    }

    /// Where the walk is, or where it begins; nil when there is nothing to walk.
    private func position(
        on ground: PurgeGround,
        _ checkpoint: PurgeCheckpoint,
        _ table: PurgeTable
    ) async throws -> WalkPosition? {
        if let position = checkpoint.position { return position }
        let batch = arguments.batch ?? PurgeArguments.usualBatch
        let way = try await context.read {
            try ground.way(checkpoint.condition, table, batch: batch, $0)
        }
        return way.map { WalkPosition(way: $0, filenode: ground.filenode) }
    }

    private func noteFailure(_ error: PostgresError) {
        rows.failed(error)
        if error.state == .lockNotAvailable { locked += 1 }
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
        let after = try context.purgeProgress()
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
            try await context.read { try DeadRows.vacuum(table, $0) }
        }
        let share = try await context.read { try DeadRows.share(of: table, $0) }
        var progress = try context.purgeProgress()
        progress.settle(share)
        try await context.commit(progress)
    }
}
