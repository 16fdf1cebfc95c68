import Bulkhead
import BulkheadTesting
import Postgres
import Testing

/// Whatever writers and networks do, each snapshot is the query's result at one moment, and the last one its
/// result in the end.
@Suite struct LiveStormTests {
    private static let rounds = 80

    /// The result of each snapshot, until the last row of all has come.
    private func follow(_ query: LiveQuery<Line>) async throws -> [String] {
        var follower = Follower(query)
        var results: [String] = []
        while results.last?.hasPrefix("-1|") != true {
            results.append(try await follower.next().lines.joined(separator: "\n"))
        }
        return results
    }

    private func query(
        _ database: TestDatabase,
        of table: String,
        at address: DatabaseAddress? = nil
    ) -> LiveQuery<Line> {
        var query = database.query(
            of: table,
            SQL(unsafe: LiveHistory.columns),
            count: 3,
            where: SQL(unsafe: LiveHistory.filter),
            orderBy: SQL(unsafe: LiveHistory.order),
            at: address
        )
        query.settings.poll = .milliseconds(10)
        query.burst = .milliseconds(1)
        query.page = 3
        return query
    }

    private func whole(_ database: TestDatabase) -> LiveQuery<Line> {
        var query = LiveQuery(
            database.address,
            running: """
                select \(unsafe: LiveHistory.columns) from t where \(unsafe: LiveHistory.filter)
                order by \(unsafe: LiveHistory.order), id
                """,
            dependingOn: ["t"],
            key: "id"
        ) { try Line($0, $1, count: 3) }
        query.settings.poll = .milliseconds(10)
        query.burst = .milliseconds(1)
        return query
    }

    /// Anyone with a session, who writes, rolls back, and ends other people's sessions.
    private func writeByHand(_ database: TestDatabase, _ seed: UInt64, _ proxy: TestProxy)
        async throws
    {
        var random = SplitMix(state: seed)
        let session = try await database.session()
        for round in 1...Self.rounds {
            let (id, n) = (random.below(100), random.below(6))
            let work = [
                "insert into t values (\(id), \(n), 'item \(id)') on conflict (id) do update set n = null",
                "update t set n = \(n), name = nullif('Item ' || n * id, 'Item 0') where id % 9 = \(id % 9)",
                "delete from t where id between \(id) and \(id + 3)",
                "update t set id = id + 1000 where id = \(id) and not exists (select from t where id = \(id + 1000))",
                "delete from t where id > 1000; insert into t values (\(id + 1000), \(n)); update t set name = upper(name) where id = \(id)",
                round % 20 == 0 ? "truncate t" : "update t set n = n where id = \(id)",
            ][random.below(6)]
            try await session.run(
                """
                begin; select lock_t(); \(work); select note_t();
                \(random.below(5) == 0 ? "rollback" : "commit")
                """
            )
            if round % 25 == 0 { proxy.cut() }
            if round % 30 == 0 {
                try await session.run(
                    """
                    select pg_terminate_backend(pid) from pg_stat_activity
                    where datname = current_database() and application_name = 'bulkhead live'
                    """
                )
            }
        }
    }

    /// Jobs as imports and purges are: batches that write rows and publish their ids.
    private static func handler(_ kind: String, _ work: @escaping @Sendable (Int64) -> String)
        -> TestHandler
    {
        TestHandler(kind) { context in
            let table = try context.arguments([String: String].self)["table"] ?? ""
            while context.progress.rowsDone < Self.rounds {
                try await context.batch { batch in
                    try batch.connection.run(script: "select lock_\(table)()")
                    let ids: JSONText? = try batch.connection.query(
                        """
                        with changed as (\(unsafe: work(context.progress.rowsDone).replacing("TABLE", with: table))
                            returning id)
                        select jsonb_agg(id) from changed
                        """
                    ).value(0, 0)
                    try batch.connection.run(script: "select note_\(table)()")
                    if let ids {
                        try batch.publish(
                            kind == "purge" ? .delete : .update,
                            of: "public.\(table)",
                            ids: ids
                        )
                    }
                    return Progress(rowsDone: context.progress.rowsDone + 1)
                }
            }
        }
    }

    @Test func everySnapshotIsTheResultOfAMoment() async throws {
        try await TestDatabase.with { database in
            try await database.run(LiveHistory.tables)
            let proxy = try TestProxy(to: database)
            defer { proxy.close() }
            let cut = query(database, of: "t", at: try DatabaseAddress(proxy.url(database)))
            var usual = query(database, of: "t")
            usual.costOfID = .microseconds(30)
            let queries = [
                query(database, of: "t"), cut, usual, whole(database), query(database, of: "u"),
            ]
            let followers = queries.map { query in Task { try await follow(query) } }
            let daemon = try await TestDaemon.start(
                database,
                [
                    Self.handler("import") { round in
                        """
                        insert into TABLE select i, i % 4, 'item ' || i * 7 % 30
                        from generate_series(\(round % 10 * 10), \(round % 10 * 10 + 9)) i
                        on conflict (id) do update set n = coalesce(TABLE.n, 0) + 1, name = excluded.name
                        """
                    },
                    Self.handler("purge") { round in
                        "delete from TABLE where id % 20 = \(round % 20) or n > 5"
                    },
                ]
            ) { $0.workers = 4 }
            try await database.run(
                """
                select bulkhead.enqueue(kind, jsonb_build_object('table', t))
                from unnest('{import,purge}'::text[]) kind, unnest('{t,u}'::text[]) t
                """
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                for seed in 1...3 {
                    group.addTask { try await writeByHand(database, UInt64(seed), proxy) }
                }
                try await group.waitForAll()
            }
            try await database.waitUntil(
                "select bool_and(state = 'completed') from bulkhead.job",
                within: .seconds(120)
            )
            for table in ["t", "u"] {
                try await database.run(
                    """
                    begin; select lock_\(table)(); insert into \(table) values (-1, 0, null); select note_\(table)();
                    select bulkhead.publish('public.u', 'insert', '[-1]', null) where '\(table)' = 'u'; commit
                    """
                )
            }
            for (number, follower) in followers.enumerated() {
                try await LiveHistory.check(
                    try await follower.value,
                    of: number == 4 ? "u" : "t",
                    in: database
                )
            }
            try await daemon.stop()
        }
    }
}
