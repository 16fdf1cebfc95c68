import BulkheadTesting
import Postgres
import Testing

/// Tables whose writers keep a history: what the query of the table was at the end of each transaction.
struct LiveHistory {
    static let columns = "id, n, name"
    static let filter = "n is distinct from 3 and id % 10 <> 7"
    static let order = "name collate german desc nulls first, n nulls last"

    /// Makes the tables `t` and `u`, of which `t` is tracked.
    ///
    /// Whoever writes to one first takes its lock, so that the order of the history is that of the commits.
    static let tables = """
        create collation german (provider = icu, locale = 'de-u-kn-true');
        \(["t", "u"].map { table in
            """
            create table \(table) (id int primary key, n int, name text);
            create table \(table)_history (seq bigserial primary key, result text);
            create function lock_\(table)() returns void language sql as
                $$ select pg_advisory_xact_lock('\(table)'::regclass::oid::bigint) $$;
            create function note_\(table)() returns void language sql as $$
                insert into \(table)_history (result)
                select coalesce(string_agg(
                    concat_ws('|', id, coalesce(n::text, 'NULL'), coalesce(name, 'NULL')), E'\\n'
                    order by \(order), id), '')
                from \(table) where \(filter)
            $$;
            insert into \(table)
            select i, i % 5, 'item ' || i from generate_series(1, 60) i;
            select note_\(table)();
            """
        }.joined(separator: "\n"))
        select bulkhead.track('t')
        """

    /// Checks that snapshots are results of the history, in its order, and that the last is its end.
    static func check(
        _ snapshots: [String],
        of table: String,
        in database: TestDatabase
    ) async throws {
        let rows = try await database.rows(
            "select result from \(unsafe: table)_history order by seq"
        )
        let history = rows.map { $0[0] ?? "" }
        var place = 0
        for (number, snapshot) in snapshots.enumerated() {
            guard let next = history[place...].firstIndex(of: snapshot) else {
                Issue.record("snapshot \(number) of \(table) was at no moment behind \(place)")
                return
            }
            place = next
        }
        #expect(snapshots.last == history.last)
        // How many there are between the first and the last is up to the machine: bursts become one.
        #expect(snapshots.count > 1, "only \(snapshots.count) snapshots of \(table)")
    }
}
