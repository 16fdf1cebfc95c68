internal import Bulkhead
internal import Postgres

/// A step whose statements run in one transaction, together with the record that it is applied.
struct TransactionStep {
    private let site: StepSite
    private let statements: [SQLStatement]

    init(_ site: StepSite) {
        self.site = site
        statements = site.task.step.statements
    }

    func run() async throws {
        try await LockedTransaction(site, statements).run { batch in
            try site.close(batch, statements, isDone: true)
        }
    }
}

/// Statements in one transaction, tried again and again with short waits for their locks.
struct LockedTransaction {
    private let site: StepSite
    private let statements: [SQLStatement]

    init(_ site: StepSite, _ statements: [SQLStatement]) {
        self.site = site
        self.statements = statements
    }

    /// Runs them, and then what closes the transaction.
    ///
    /// - Throws: `JobFailure` when a statement is wrong, or its locks cannot be had.
    func run(_ close: (Batch) throws -> Progress) async throws {
        var ladder = LockLadder(maxBlock: site.arguments.maxBlock, total: site.arguments.lockTotal)
        try await site.waitForLanes(statements)
        while true {
            let start = ContinuousClock.now
            do {
                let rung = ladder.rung
                try await site.context.batch { batch in
                    _ = try site.open(batch)
                    try site.useUsualSettings(batch.connection, isLocal: true)
                    try run(within: rung, batch)
                    return try close(batch)
                }
                return
            } catch let refused as StepLocks.Refused {
                let rest = ladder.failed(took: .now - start, random: .random(in: 0...1))
                try await rested(refused, rest)
            }
        }
    }

    private func run(within rung: Duration, _ batch: Batch) throws {
        let connection = batch.connection
        try StepLocks(statements, connection).take(within: rung, connection)
        for statement in statements {
            try StepLocks.limit(rung, connection)
            do {
                let affected = try site.run(statement, connection)
                if affected > 0 || statement.begins(with: "truncate") {
                    try publish(statement, connection)
                }
            } catch let error as PostgresError where error.state == .lockNotAvailable {
                throw StepLocks.Refused(wanted: nil, statement: statement)
            }
        }
    }

    /// Tells the readers of the feed to read the table again whose rows a statement changed, unless its triggers do.
    private func publish(_ statement: SQLStatement, _ connection: Connection) throws {
        let changes = ["insert", "update", "delete", "truncate"]
        guard changes.contains(where: { statement.begins(with: $0) }) else { return }
        for target in statement.lockTargets {
            try connection.query(
                """
                select bulkhead.publish(f.relation, 'reset', null, \(site.context.job.id))
                from pg_catalog.pg_class c cross join lateral bulkhead.feed_key(c.oid) as f
                where c.oid = pg_catalog.to_regclass(\(target.name)) and c.relkind in ('r', 'p')
                    and not coalesce(bulkhead.is_tracked(c.oid), false)
                """
            )
        }
    }

    /// Says who is in the way, and rests; gives up when the time is spent.
    private func rested(_ refused: StepLocks.Refused, _ rest: Duration?) async throws {
        let holders = try await holders(refused)
        guard let rest else {
            throw JobFailure(
                "\(site.task.position(refused.statement)): \(refused.words) was not given within "
                    + "\(site.arguments.lockTotal)\(holders.map { ", held by \($0)" } ?? ""): end what holds it, or "
                    + "give the step more time with --lock-timeout-total",
                sqlstate: "55P03",
                position: site.task.position(refused.statement)
            )
        }
        site.context.waits(for: "\(refused.words)\(holders.map { " held by \($0)" } ?? "")")
        try await site.context.sleep(for: rest)
    }

    private func holders(_ refused: StepLocks.Refused) async throws -> String? {
        guard let wanted = refused.wanted else { return nil }
        return try await site.context.read { connection in
            try connection.query(
                "select bulkhead.lock_holders(\(wanted.oid)::oid, \(wanted.mode.rawValue))"
            ).value(0, 0)
        }
    }
}

extension StepLocks.Refused {
    fileprivate var words: String {
        wanted.map { "\($0.mode.rawValue) lock on \($0.name)" } ?? "a lock that the statement needs"
    }
}

extension StepSite {
    /// Waits until no batch works on the tables of some statements, and keeps batches off them.
    func waitForLanes(_ statements: [SQLStatement], and tables: [String] = []) async throws {
        let named = (task.step.namedTables ?? []) + tables
        let relations = try await context.read { connection in
            try connection.transaction { connection in
                try usePath(connection, isLocal: true)
                let named = try named.compactMap { name in
                    try connection.query("select pg_catalog.to_regclass(\(name))::oid::bigint")
                        .value(0, 0, as: Int64.self)
                }
                return try named + StepLocks(statements, connection).relations
            }
        }
        try await turn.wait(on: relations)
    }
}
