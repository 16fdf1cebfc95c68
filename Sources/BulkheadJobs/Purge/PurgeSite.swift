internal import Bulkhead
internal import Postgres

/// The table that is purged, what refers to it, and where its rows go.
struct PurgeSite {
    let table: PurgeTable
    let graph: ReferenceGraph
    let archive: Archive?
    /// Archives what goes with the rows in other tables; nil where nothing does, or nobody asks.
    private let cascade: CascadeRemover?

    /// Makes the archive ready, so that one that cannot be fails the job before its first row.
    init(
        _ table: PurgeTable,
        _ graph: ReferenceGraph,
        _ arguments: PurgeArguments,
        _ context: JobContext,
        _ root: ImportRoot,
        _ connection: Connection
    ) throws {
        self.table = table
        self.graph = graph
        guard arguments.archives else {
            archive = nil
            cascade = nil
            return
        }
        if arguments.archiveTable != nil { try table.requireSameColumns(connection) }
        let archive = Archive(context, root)
        try archive.add(
            Archive.Source(table: table.oid),
            like: PurgeGround(table.oid, of: table, connection),
            arguments,
            suffix: nil,
            connection
        )
        self.archive = archive
        cascade =
            graph.touched.isEmpty
            ? nil
            : try CascadeRemover(table, graph, archive, arguments, job: context.job.id, connection)
    }

    /// The table as it is in this transaction: an archive must not miss a column that has just been added.
    func present(_ ground: PurgeGround, _ connection: Connection) throws -> PurgeGround {
        guard archive != nil else { return ground }
        try connection.run(script: "lock table \(ground.source) in row exclusive mode")
        let present = try PurgeGround(ground.oid, of: table, connection)
        guard present.name == ground.name else { throw GroundGone() }
        return present
    }

    /// Deletes one batch in its transaction.
    ///
    /// - Returns: How far the purge is then.
    func remove(
        _ removal: Removal,
        _ experience: PurgeExperience,
        _ progress: PurgeProgress,
        _ batch: Batch
    ) throws -> PurgeProgress {
        let cascades = Cascades(graph)
        var (outcome, done) = try BatchRemover(
            removal: removal,
            graph: graph,
            experience: experience,
            cascades: cascades,
            cascade: cascade,
            connection: batch.connection
        ).remove()
        guard outcome.isPart else { throw GroundGone() }
        guard outcome.filenode == removal.position.filenode else { throw TableRewritten() }
        try done.count(&outcome, batch.connection)
        var next = progress
        if let cascade {
            next.report.cascaded += cascade.cascaded
            next.report.archived = (next.report.archived ?? 0) + cascade.archived
        } else {
            next.report.cascaded += try cascades.publish(
                own: Int64(outcome.deleted),
                of: table.oid,
                batch
            )
            if let target = removal.archive, let archive {
                let archived = try archive.record(
                    Int64(outcome.deleted),
                    in: target,
                    of: removal.ground.restored(in: table),
                    columns: removal.ground.columns.map(\.name),
                    n: 0,
                    batch: removal.batch,
                    batch.connection
                )
                next.report.archived = (next.report.archived ?? 0) + archived
            }
        }
        var name: String?
        if let left = outcome.left, progress.checkpoint.leftInPass.first == nil {
            name = try removal.ground.name(of: left, removal.position.way, batch.connection)
        }
        next.apply(outcome, of: done, leftName: name)
        return next
    }
}

/// The table was written anew while it was walked.
struct TableRewritten: Error {}
