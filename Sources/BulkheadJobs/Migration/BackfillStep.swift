internal import Bulkhead
internal import Postgres

/// A step that changes the rows of a table in committed batches, from its first key to the last one that there was
/// when it began.
final class BackfillStep {
    private let site: StepSite
    private let backfill: MigrationStep.Backfill
    private let statement: SQLStatement
    /// What other backfills of the job have changed.
    private var rowsBefore: Int64 = 0
    private var rows: BatchSizer
    private var pages = BatchSizer(first: 256, in: 1...100_000)

    init(_ site: StepSite, _ backfill: MigrationStep.Backfill) {
        self.site = site
        self.backfill = backfill
        statement = site.task.step.statements[0]
        rows = BatchSizer(fixed: backfill.batch)
    }

    func run() async throws {
        let work = try BackfillStatement(statement, walking: backfill.table)
        try await site.waitForLanes([statement], and: [backfill.table])
        let table = try await site.context.read { connection in
            try connection.transaction { connection in
                try site.usePath(connection, isLocal: true)
                return try BackfillTable(backfill.table, connection)
            }
        }
        try check(table, work)
        var position = try await begin(table)
        while let present = position {
            do {
                position = try await batch(present, table, work)
            } catch let conflict as BackfillConflict {
                let keys = try await site.context.read { connection in
                    try conflict.keys({ try site.usePath($0, isLocal: true) }, connection)
                }
                throw site.failure(conflict.error, statement, keys)
            }
        }
    }

    /// What is true of a row that is still to be done; nil where the statement does not say.
    private var open: String? { backfill.until.map { "(\($0)) is not true" } }

    private func check(_ table: BackfillTable, _ work: BackfillStatement) throws {
        func refuse(_ message: String) -> JobFailure {
            let position = site.task.position(statement)
            return JobFailure("\(position): \(message)", position: position)
        }
        if table.key.isEmpty, backfill.until == nil {
            throw refuse(
                "\(table.name) has no unique key without NULLs to go by, and a row that moves would be changed twice: "
                    + "say with until EXPR what the change makes true"
            )
        }
        if table.key.isEmpty, table.isPartitioned {
            throw refuse(
                "\(table.name) is partitioned and has no unique key to go by: walk its partitions one by one"
            )
        }
        if let column = work.moves(table.key.map(\.name)) {
            throw refuse(
                "the statement changes \(column), by which the rows of \(table.name) are walked: a row would be met "
                    + "twice"
            )
        }
    }

    /// Where the walk is; nil when there is nothing to do, and the step is done.
    private func begin(_ table: BackfillTable) async throws -> BackfillPosition? {
        var position: BackfillPosition?
        try await site.context.batch { batch in
            position = try site.open(batch)?.decode()
            // Another table, or another way through it: what was walked says nothing.
            if let old = position, old.table != table.oid || !table.suits(old.walk) {
                position = nil
            }
            if position == nil {
                rowsBefore = try MigrationReport(site.context.progress).rows
                position = try table.start(batch.connection).map {
                    BackfillPosition(walk: $0, table: table.oid)
                }
            }
            guard let position else { return try close(batch, isDone: true, table) }
            try MigrationLedger(connection: batch.connection).note(
                site.task,
                position: JSONText(encoding: position)
            )
            return try close(batch, isDone: false, table)
        }
        return position
    }

    private func close(
        _ batch: Batch,
        isDone: Bool,
        rows: Int64 = 0,
        _ table: BackfillTable
    ) throws -> Progress {
        let total = table.expectedRows.map { $0 + rowsBefore }
        return try site.close(batch, [statement], isDone: isDone, rows: rows, total: total)
    }

    // MARK: Batches

    /// Changes the rows of the next stretch.
    ///
    /// - Returns: How far it is then; nil when the step is done.
    private func batch(
        _ position: BackfillPosition,
        _ table: BackfillTable,
        _ work: BackfillStatement
    ) async throws -> BackfillPosition? {
        var next: BackfillPosition?
        var changed: Int64 = 0
        let took = try await site.context.batch(onFailure: noteFailure) { batch in
            _ = try site.open(batch)
            let connection = batch.connection
            try StepLocks.limit(site.arguments.maxBlock, connection)
            changed = 0
            if position.isPassDone {
                next = try pass(after: position, table, work, connection)
            } else if let fresh = try restarted(position, table, connection) {
                next = fresh
            } else {
                let window = try site.explaining(statement) {
                    try BackfillWindow(
                        table,
                        work.alias,
                        position.walk,
                        rows: rows.rows,
                        pages: pages.rows,
                        open: position.sweep > 0 ? open : nil,
                        connection
                    )
                }
                changed = try change(window, work, batch)
                next = position
                next?.walk.after = window.next
                next?.isPassDone = window.next == nil
            }
            return try record(next, changed, table, batch)
        }
        // However few of them were changed: all were looked at.
        rows.took(took, rows: rows.rows)
        pages.took(took, rows: pages.rows)
        return next
    }

    private func noteFailure(_ error: PostgresError) {
        rows.failed(error)
        pages.failed(error)
    }

    private func record(
        _ next: BackfillPosition?,
        _ changed: Int64,
        _ table: BackfillTable,
        _ batch: Batch
    ) throws -> Progress {
        let ledger = MigrationLedger(connection: batch.connection)
        try ledger.note(
            site.task,
            rows: changed,
            position: try next.map { try JSONText(encoding: $0) } ?? JSONText("{}")
        )
        return try close(batch, isDone: next == nil, rows: changed, table)
    }

    /// Where pages were written anew, a walk by pages begins again: `until` keeps what is done from being done twice.
    private func restarted(
        _ position: BackfillPosition,
        _ table: BackfillTable,
        _ connection: Connection
    ) throws -> BackfillPosition? {
        guard case .pages = position.walk.way else { return nil }
        let filenode: Int64 = try connection.query(
            "select coalesce(pg_catalog.pg_relation_filenode(\(table.oid)::oid), 0)::bigint"
        ).required(0, 0)
        guard filenode != position.walk.filenode else { return nil }
        let now = try BackfillTable(table.name, connection)
        return try now.start(connection).map {
            BackfillPosition(walk: $0, table: table.oid, sweep: position.sweep)
        }
    }

    /// Changes rows and publishes their keys.
    private func change(_ window: BackfillWindow, _ work: BackfillStatement, _ batch: Batch) throws
        -> Int64
    {
        let condition = [window.condition, open].compactMap(\.self).joined(separator: " and ")
        return try BackfillChange(site, work, condition: condition).run(batch)
    }

    // MARK: The end of a pass

    /// What comes after a pass: another one over the rows that are left, as long as they become fewer.
    private func pass(
        after position: BackfillPosition,
        _ table: BackfillTable,
        _ work: BackfillStatement,
        _ connection: Connection
    ) throws -> BackfillPosition? {
        guard let open else { return nil }
        let left = try site.explaining(statement) {
            try table.left(open, work.alias, position.walk, connection)
        }
        if left.count == 0 { return nil }
        if let before = position.left, before <= left.count { throw failure(left, table) }
        var next = position
        next.left = left.count
        next.sweep += 1
        next.isPassDone = false
        next.walk.after = nil
        if table.key.isEmpty, let start = try table.start(connection) { next.walk = start }
        return next
    }

    private func failure(_ left: (count: Int64, names: String?), _ table: BackfillTable)
        -> JobFailure
    {
        let position = site.task.position(statement)
        return JobFailure(
            "\(position): \(left.count) rows of \(table.name) up to the bound fail `\(backfill.until ?? "")` still, the first of "
                + "them \(left.names ?? ""): look at them, mend the statement or the rows, and run it again",
            position: position
        )
    }
}

extension BackfillTable {
    /// Whether places of an earlier walk mean something here.
    fileprivate func suits(_ walk: WalkPosition) -> Bool {
        switch walk.way {
        case .pages: key.isEmpty && walk.filenode == filenode
        case .key(let end): end.count == key.count
        case .index: false
        }
    }
}
