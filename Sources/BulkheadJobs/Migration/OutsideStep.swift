internal import Bulkhead
internal import Postgres

/// A step whose statements each stand for themselves: outside a transaction where they refuse one.
///
/// What was done outside and what is recorded of it cannot commit together, so each such statement leaves word
/// before it starts, and the next try finds out what the last one left.
struct OutsideStep {
    private let site: StepSite

    /// How far the step is.
    private struct Position: Codable {
        /// The statements that are done.
        var done: [String] = []
        /// The next one, when it was tried before.
        var tried: String?
        /// The indexes that there were before a statement was first tried here.
        var before: [Int64]?
    }

    init(_ site: StepSite) {
        self.site = site
    }

    func run() async throws {
        let statements = site.task.step.statements
        var position = try await begin()
        guard position.done.elementsEqual(statements.prefix(position.done.count).map(\.text)) else {
            throw JobFailure(
                "\(site.task.position(statements.first)): a statement of this step was run and has been changed "
                    + "since: put it back as it was, and write what is new behind it"
            )
        }
        for statement in statements.dropFirst(position.done.count) {
            let next = Position(done: position.done + [statement.text])
            if statement.runsOutside {
                try await runOutside(statement, position)
                try await record(next)
            } else {
                try await LockedTransaction(site, [statement]).run { batch in
                    try note(next, batch)
                }
            }
            position = next
        }
    }

    private func begin() async throws -> Position {
        var position: Position?
        try await site.context.batch { batch in
            position = try site.open(batch)?.decode()
            return try site.close(batch, [], isDone: false)
        }
        return position ?? Position()
    }

    private func record(_ position: Position) async throws {
        try await site.context.batch { batch in
            _ = try site.open(batch)
            return try note(position, batch)
        }
    }

    private func note(_ position: Position, _ batch: Batch) throws -> Progress {
        let ledger = MigrationLedger(connection: batch.connection)
        try ledger.note(site.task, position: JSONText(encoding: position))
        let isDone = position.done.count == site.task.step.statements.count
        return try site.close(batch, site.task.step.statements, isDone: isDone)
    }

    private func runOutside(_ statement: SQLStatement, _ position: Position) async throws {
        try await site.waitForLanes([statement], and: statement.indexedTable.map { [$0] } ?? [])
        var isFirst = position.tried != statement.text
        let before = try await leaveWord(statement, position)
        do {
            try await site.context.outsideTransaction { connection in
                try site.turn.require(connection)
                let leftovers = Leftovers(statement, before: before, isFirst: isFirst)
                isFirst = false
                try inPath(connection) { try attempt(statement, leftovers, connection) }
            }
        } catch let failure as JobFailure {
            // An index that is no good slows down every write until it is gone.
            try await site.context.outsideTransaction { connection in
                let leftovers = Leftovers(statement, before: before, isFirst: false)
                try inPath(connection) { try leftovers.drop(connection) }
            }
            throw failure
        }
    }

    /// Records that a statement is going to be tried, and which indexes there were before.
    private func leaveWord(_ statement: SQLStatement, _ position: Position) async throws -> [Int64]
    {
        if position.tried == statement.text, let before = position.before { return before }
        let present = try await site.context.read { connection in
            try inPath(connection) { try Leftovers.present(statement, connection) }
        }
        let before = position.before ?? present
        try await record(Position(done: position.done, tried: statement.text, before: before))
        return before
    }

    private func inPath<Result>(_ connection: Connection, _ body: () throws -> Result) throws
        -> Result
    {
        try site.useUsualSettings(connection, isLocal: false)
        do {
            let result = try body()
            try connection.restoreSettings()
            return result
        } catch {
            if !connection.isLost { try connection.restoreSettings() }
            throw error
        }
    }

    /// Limits the waits of those behind which others queue, such as VACUUM FULL.
    ///
    /// Most wait so that only other changes of the schema queue behind them, for as long as a report may run.
    private func limitWaits(of statement: SQLStatement, _ connection: Connection) throws {
        let time = statement.waitsAside ? .zero : site.arguments.maxBlock
        try connection.query(
            "select pg_catalog.set_config('lock_timeout', \("\(Int64(time / .milliseconds(1)))ms"), false)"
        )
    }

    private func attempt(
        _ statement: SQLStatement,
        _ leftovers: Leftovers,
        _ connection: Connection
    ) throws {
        if try leftovers.isDone(connection) { return }
        try leftovers.drop(connection)
        try limitWaits(of: statement, connection)
        let text = try leftovers.finishing(connection) ?? statement.concurrentText
        try site.run(statement, as: text, connection)
        guard try leftovers.isSound(connection) else {
            throw JobFailure(
                "\(site.task.position(statement)): the index was built and is not valid: look for it with "
                    + "select indexrelid::regclass from pg_index where not indisvalid",
                position: site.task.position(statement)
            )
        }
    }
}
