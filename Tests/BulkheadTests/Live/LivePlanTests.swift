import BulkheadTesting
import Postgres
import Testing

@testable import Bulkhead

/// What reads some rows again finds them by their key.
@Suite struct LivePlanTests {
    private static let tables = [
        "create table t (id bigint primary key, n int)":
            "insert into t select i, i from generate_series(1, 50000) i",
        """
        create collation german (provider = icu, locale = 'de');
        create table t (code varchar(20) collate german, n numeric(9, 2), primary key (n, code))
        """: "insert into t select 'code ' || i, i from generate_series(1, 50000) i",
        "create table t (id uuid, n int, primary key (id, n)) partition by hash (id); "
            + "create table p1 partition of t for values with (modulus 2, remainder 0); "
            + "create table p2 partition of t for values with (modulus 2, remainder 1)":
            "insert into t select gen_random_uuid(), i from generate_series(1, 50000) i",
    ]

    @Test(arguments: tables, [1, 10, 1000])
    func theKeysIndexIsUsed(_ table: (key: String, value: String), _ count: Int) async throws {
        try await TestDatabase.with { database in
            let session = try await database.session()
            try await session.run("\(table.key); \(table.value); analyze t")
            let plans = try await session.use { connection in
                let feedTable = try FeedTable(try connection.query(FeedTable.question("t")))
                let key = try #require(feedTable.key)
                let ids: JSONText = try connection.query(
                    """
                    select jsonb_agg((\(unsafe: key.expression))::jsonb)
                    from (select * from t limit \(count)) t
                    """
                ).required(0, 0)
                let query = LiveTable(
                    name: "t",
                    columns: "*",
                    filter: "n > \(5)",
                    order: "n desc",
                    limit: nil
                )
                return try [
                    query.some(of: feedTable, key, ids: ids),
                    query.order(of: feedTable, key, ids: ids),
                ].map { statement in
                    let rows = try connection.query("explain \(statement)")
                    return try (0..<rows.count).map { try rows.required($0, 0, as: String.self) }
                        .joined(separator: "\n")
                }
            }
            for plan in plans {
                #expect(
                    plan.contains("Index Scan using") || plan.contains("Index Only Scan"),
                    "\(plan)"
                )
                #expect(!plan.contains("Seq Scan on t"), "\(plan)")
                #expect(!plan.contains("Seq Scan on p"), "\(plan)")
            }
        }
    }
}
