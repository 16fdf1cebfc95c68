internal import Bulkhead
internal import Postgres

/// Finds out what a purge would do, and does nothing.
struct PurgeDryRun {
    private let context: JobContext
    private let arguments: PurgeArguments
    private let batch: Int

    private static let mostTables = 20

    init(_ context: JobContext, _ arguments: PurgeArguments) {
        self.context = context
        self.arguments = arguments
        batch = arguments.batch ?? PurgeArguments.usualBatch
    }

    func run() async throws -> JSONText? {
        let found = try await context.read { try preview($0) }
        return try JSONText(encoding: found)
    }

    private func preview(_ connection: Connection) throws -> PurgePreview {
        let table = try PurgeTable(connection, name: arguments.tableName)
        let graph = try ReferenceGraph(table, connection)
        let plan = try PurgePlan(arguments, table, connection)
        let rows = min(plan.expectedRows, arguments.maxRows ?? .max)
        let batch = Int64(batch)
        return PurgePreview(
            condition: plan.condition.sql,
            rows: rows,
            batches: (rows + batch - 1) / batch,
            tables: try tables(plan, table, connection),
            statement: try statement(plan, table, connection),
            plan: try explain(plan, table, connection),
            references: graph.all.map(PurgePreview.Referring.init),
            archive: archive(graph),
            problems: problems(table, graph)
        )
    }

    private func tables(
        _ plan: PurgePlan,
        _ table: PurgeTable,
        _ connection: Connection
    ) throws -> [PurgePreview.Walked] {
        try plan.grounds.prefix(Self.mostTables).map { oid in
            let ground = try PurgeGround(oid, of: table, connection)
            let way = try ground.way(plan.condition.sql, table, batch: batch, connection)
            return PurgePreview.Walked(table: ground.name, way: way?.words ?? "it is empty")
        }
    }

    /// The statement of the first batch of the first table that holds anything.
    private func statement(
        _ plan: PurgePlan,
        _ table: PurgeTable,
        _ connection: Connection
    ) throws -> String? {
        for oid in plan.grounds {
            let ground = try PurgeGround(oid, of: table, connection)
            guard let way = try ground.way(plan.condition.sql, table, batch: batch, connection)
            else { continue }
            let removal = Removal(
                ground: ground,
                position: WalkPosition(way: way, filenode: ground.filenode),
                condition: plan.condition.sql,
                size: Removal.Size(rows: batch, pages: 256),
                skipsLocked: false,
                archive: nil,
                job: context.job.id,
                batch: 1
            )
            return removal.commonTables + "\nselect count(*) from gone"
        }
        return nil
    }

    private func explain(
        _ plan: PurgePlan,
        _ table: PurgeTable,
        _ connection: Connection
    ) throws -> [String] {
        let rows = try connection.query(
            SQL(
                unsafe:
                    "explain select from \(table.name) as \(table.alias) where \(plan.condition.sql)"
            )
        )
        return try (0..<rows.count).map { try rows.required($0, 0) }
    }

    private func archive(_ graph: ReferenceGraph) -> PurgePreview.Kept? {
        guard let place = arguments.archiveTable ?? arguments.archiveFile else { return nil }
        return PurgePreview.Kept(place: place, alsoFrom: graph.touched.map(\.child))
    }

    /// What would fail the job before its first row.
    private func problems(_ table: PurgeTable, _ graph: ReferenceGraph) -> [String] {
        var problems: [String] = []
        func note(_ check: () throws -> Void) {
            do {
                try check()
            } catch {
                problems.append("\(error)")
            }
        }
        if arguments.force != true { note { try graph.requireIndexes() } }
        if arguments.archives {
            note { _ = try graph.order(of: table) }
            for reference in graph.touched { note { try reference.requireArchivable(table) } }
        }
        if arguments.dropPartitions == true, let column = arguments.columnName {
            note { _ = try PartitionDrop(context, table, column: column) }
        }
        return problems
    }
}
