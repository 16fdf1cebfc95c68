internal import Bulkhead
package import Postgres

/// Runs the steps of migrations in a scratch database that has the schema and no rows, and tells what they would do to
/// the live tables.
package struct MigrationTrial {
    private let live: Connection
    private let scratch: Connection
    private let pace: Pace
    /// The sizes of the live tables by their names.
    private let sizes: [String: (bytes: Int64, rows: Int64)]

    /// A statement that holds a strong lock for less is as good as one that holds it for no time.
    private static let shortest = 0.05

    /// Measures the server.
    ///
    /// - Parameters:
    ///   - live: A session with the live database, in which nothing is changed.
    ///   - scratch: A session with the scratch database.
    /// - Throws: What the server says.
    package init(live: Connection, scratch: Connection) throws {
        self.live = live
        self.scratch = scratch
        pace = try Pace(scratch)
        try StatementObserver.prepare(scratch)
        let rows = try live.query(
            """
            select pg_catalog.format('%I.%I', n.nspname, c.relname),
                pg_catalog.pg_total_relation_size(c.oid) - pg_catalog.pg_indexes_size(c.oid),
                case when c.reltuples > 0 then c.reltuples
                    else pg_catalog.pg_stat_get_live_tuples(c.oid) end::bigint
            from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
            where c.relkind in ('r', 'p', 'm') and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
            """
        )
        var sizes: [String: (bytes: Int64, rows: Int64)] = [:]
        for row in 0..<rows.count {
            sizes[try rows.required(row, 0)] = (
                try rows.required(row, 1), try rows.required(row, 2)
            )
        }
        self.sizes = sizes
    }

    /// Tries the files, one after another, to the first step that fails.
    ///
    /// - Parameters:
    ///   - files: The files, in their order.
    ///   - applied: How many steps of a file are applied already, by its number.
    /// - Returns: What was seen.
    /// - Throws: `MigrationError` for a file that cannot be read; what the server says when it goes away.
    package func forecast(
        _ files: [MigrationFile],
        applied: [String: Int] = [:]
    ) throws -> MigrationForecast {
        var forecast = MigrationForecast()
        for file in files {
            for step in try MigrationPlan(file).up.dropFirst(applied["\(file.version)"] ?? 0) {
                let tried = try forecastStep(step, of: file)
                forecast.steps.append(tried)
                if tried.error != nil { return forecast }
            }
        }
        return forecast
    }

    private func forecastStep(
        _ step: MigrationStep,
        of file: MigrationFile
    ) throws -> MigrationForecast.Step {
        var tried = MigrationForecast.Step(file: file.name, line: step.line, kind: step.kind.name)
        do {
            switch step.kind {
            case .transaction:
                try scratch.transaction { _ in
                    for statement in step.statements {
                        try tried.statements.append(observed(statement))
                    }
                }
            case .concurrently:
                for statement in step.statements {
                    try tried.statements.append(ranAlone(statement))
                }
            case .backfill(let backfill):
                tried.statements = try step.statements.map { try walked($0, backfill) }
            }
        } catch let error as PostgresError where !scratch.isLost {
            let line = step.statements.dropFirst(tried.statements.count).first?.line ?? step.line
            tried.error = "\(file.name) line \(line): \(error.message)"
        }
        return tried
    }

    // MARK: Statements

    private func observed(_ statement: SQLStatement) throws -> MigrationForecast.Statement {
        if let untried = untried(statement) { return untried }
        let effects = try StatementObserver(connection: scratch).observe(statement.text)
        return forecast(statement, effects)
    }

    /// A scratch database is no place for what changes the server.
    private func untried(_ statement: SQLStatement) -> MigrationForecast.Statement? {
        guard statement.changesServer else { return nil }
        var seen = MigrationForecast.Statement(line: statement.line, sql: statement.text)
        seen.notTried = "it changes the whole server, not this database alone"
        return seen
    }

    private func forecast(
        _ statement: SQLStatement,
        _ effects: [TableEffect]
    ) -> MigrationForecast.Statement {
        var seen = MigrationForecast.Statement(line: statement.line, sql: statement.text)
        for effect in effects {
            let size = sizes[effect.table]
            let bytes = size?.bytes ?? 0
            let seconds = pace.seconds(effect, bytes: bytes)
            let isBlocking = effect.isLong && seconds >= Self.shortest
            seen.tables.append(
                MigrationForecast.Table(
                    table: effect.table,
                    lock: effect.lock?.rawValue.uppercased(),
                    isRewritten: effect.isRewritten,
                    isScanned: effect.isScanned,
                    indexes: effect.builtIndexes,
                    bytes: bytes,
                    rows: size?.rows ?? 0,
                    seconds: seconds,
                    blocks: isBlocking ? effect.lock?.blocked : nil
                )
            )
            if isBlocking, effect.lock?.blocked != nil, seen.recipe.isEmpty {
                seen.recipe = Recipe.lines(for: statement, effect)
            }
        }
        if let warning = Recipe.warning(for: statement) { seen.recipe.append(warning) }
        return seen
    }

    /// A statement that refuses a transaction: what it locks meanwhile is known, not seen.
    private func ranAlone(_ statement: SQLStatement) throws -> MigrationForecast.Statement {
        if let untried = untried(statement) { return untried }
        guard statement.runsOutside else {
            return try scratch.transaction { _ in try observed(statement) }
        }
        try scratch.query(SQL(unsafe: statement.concurrentText))
        guard let table = try statement.indexedTable.flatMap(fullName) else {
            return forecast(statement, [])
        }
        return forecast(statement, [.buildingConcurrently(on: table)])
    }

    /// A table's name with its schema; nil where there is no such table.
    private func fullName(_ written: String) throws -> String? {
        let row = try scratch.query(
            """
            select pg_catalog.format('%I.%I', n.nspname, c.relname)
            from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
            where c.oid = pg_catalog.to_regclass(\(written))
            """
        )
        return row.isEmpty ? nil : try row.required(0, 0)
    }

    /// A backfill takes row locks, batch after batch.
    private func walked(
        _ statement: SQLStatement,
        _ backfill: MigrationStep.Backfill
    ) throws -> MigrationForecast.Statement {
        guard let table = try fullName(backfill.table) else {
            throw PostgresError(
                state: .undefinedTable,
                message: "there is no table \(backfill.table) to walk"
            )
        }
        return forecast(statement, [TableEffect(table: table, lock: .rowExclusive)])
    }
}
