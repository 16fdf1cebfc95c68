/// The safe forms of statements that would keep readers or writers waiting.
enum Recipe {
    /// What to write instead of a statement; empty where there is nothing better.
    static func lines(for statement: SQLStatement, _ effect: TableEffect) -> [String] {
        let table = effect.table
        if statement.begins(with: "create", "index")
            || statement.begins(with: "create", "unique", "index")
        {
            return [
                "-- bulkhead: concurrently",
                "the same statement: it is run with CONCURRENTLY there",
            ]
        }
        if statement.contains("set", "not", "null") {
            return [
                "-- bulkhead: transaction",
                "alter table \(table) add constraint COLUMN_is_there check (COLUMN is not null) not valid;",
                "-- bulkhead: transaction",
                "alter table \(table) validate constraint COLUMN_is_there;",
                "-- bulkhead: transaction",
                "alter table \(table) alter column COLUMN set not null;",
                "alter table \(table) drop constraint COLUMN_is_there;",
            ]
        }
        if statement.contains("foreign", "key") || statement.contains("references")
            || statement.contains("check")
        {
            return [
                "-- bulkhead: transaction", "the same statement with NOT VALID behind it;",
                "-- bulkhead: transaction", "alter table \(table) validate constraint NAME;",
            ]
        }
        if statement.contains("unique") || statement.contains("primary", "key") {
            return [
                "-- bulkhead: concurrently", "create unique index NAME on \(table) (COLUMNS);",
                "-- bulkhead: transaction",
                "alter table \(table) add constraint NAME unique using index NAME;",
            ]
        }
        if statement.contains("add") && effect.isRewritten {
            return [
                "-- bulkhead: transaction", "alter table \(table) add column COLUMN TYPE;",
                "alter table \(table) alter column COLUMN set default VALUE;",
                "-- bulkhead: backfill \(table) until COLUMN is not null",
                "update \(table) set COLUMN = VALUE where COLUMN is null and {batch};",
            ]
        }
        if statement.contains("type") && effect.isRewritten {
            return [
                "expand and contract: a new column of the type, a trigger that keeps it, a backfill, then the names",
                "change places; `bulkhead migrate --model` writes it for you",
            ]
        }
        return []
    }

    /// What a rename breaks without blocking anybody; nil for any other statement.
    static func warning(for statement: SQLStatement) -> String? {
        guard statement.begins(with: "alter", "table"), statement.contains("rename"),
            !statement.contains("rename", "constraint")
        else { return nil }
        return
            "whoever still uses the old name fails at once: expand and contract (a new column kept by a trigger, a "
            + "backfill, later the drop of the old one) lets both live"
    }
}
