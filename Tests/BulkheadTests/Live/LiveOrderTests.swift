import Bulkhead
import BulkheadTesting
import Postgres
import Testing

/// Rows that are read again stand where the database would put them.
@Suite struct LiveOrderTests {
    private static let table = """
        create collation german (provider = icu, locale = 'de-u-kn-true');
        create table t (a int, b text collate german, n numeric, f float8, at timestamptz, primary key (b, a));
        create function fill(ids int[]) returns void language sql as $$
            insert into t
            select i, (array['ä', 'z', 'a', 'Ä', 'item 10', 'item 9', 'ß', 'e''', 'x "y"', '\\', ''])[1 + random() * 10],
                (array[null, 'NaN', 1, 1.0, 1.10, 10, 2, 1e30, -0.5])[1 + (random() * 8)::int],
                (array[null, 'NaN', 'Infinity', 0, '-0', 0.1, 1e-300])[1 + (random() * 6)::int],
                now() + (random() * 3)::int * interval '1 day'
            from unnest(ids) i on conflict do nothing
        $$;
        select bulkhead.track('t');
        select fill(array(select generate_series(1, 300)))
        """

    /// Half-way changes by others, and then the rows as the query itself gives them.
    private func follow(orderBy order: SQL, columns: SQL = "a, b, n, f") async throws {
        try await TestDatabase.with { database in
            let session = try await database.session()
            try await session.run("set datestyle = 'SQL, DMY'; set timezone = 'Asia/Kathmandu'")
            try await session.run(Self.table)
            let decoded = Lock(0)
            var follower = Follower(
                database.query(of: "t", columns, count: 4, orderBy: order) {
                    decoded.withLock { $0 += 1 }
                }
            )
            try await follower.next()
            for round in 1...15 {
                try await session.run(
                    """
                    begin;
                    delete from t where a % 40 = \(round);
                    update t set n = n + 1, f = -f, b = case when a % 2 = 0 then b || 'a' else b end
                    where a % 25 = \(round);
                    update t set b = upper(b) where a % 45 = \(round) and b <> 'ß';
                    select fill(array(select generate_series(\(round * 1000), \(round * 1000 + 9))));
                    notify bulkhead_change; commit
                    """
                )
                let snapshot = try await follower.next()
                let rows = try await database.rows(
                    "select \(columns) from t order by \(order)\n, b, a"
                )
                let lines = rows.map { $0.map { $0 ?? "NULL" }.joined(separator: "|") }
                let isRight = snapshot.lines == lines
                #expect(isRight, "\(zip(snapshot.lines, lines).first { $0 != $1 } ?? ("", ""))")
            }
            // Never all: the first time 300, later some 35.
            #expect(decoded.withLock { $0 } < 300 + 15 * 60)
        }
    }

    @Test func collationsAreTheDatabases() async throws { try await follow(orderBy: "b") }

    @Test func aCollationOfTheOrderItselfCounts() async throws {
        try await follow(orderBy: "b collate \"C\" desc, n")
    }

    @Test func nullsComeFirstOrLastAsAsked() async throws {
        try await follow(orderBy: "n nulls first, f desc nulls last, lower(b)")
    }

    @Test func directionsMixAndTiesAreBrokenByTheKey() async throws {
        try await follow(orderBy: "at desc, f, a % 3 desc -- the rest is the key's")
    }

    @Test func columnsOfTheResultCanOrderIt() async throws {
        try await follow(orderBy: "x desc, 3", columns: "a, b, n, coalesce(f, 0) + a % 7 as x")
    }

    @Test func expressionsWithParametersCanOrderIt() async throws {
        try await follow(orderBy: "(a * \(7)) % \(100), n")
    }
}
