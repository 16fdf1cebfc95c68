internal import Postgres

/// What statements do that refuse a transaction, so that nobody can look while they hold their locks: as the server's
/// manual has it, and as tests see it from another session.
enum ConcurrentStatement {
    /// The effect of such a statement on a table.
    static func effect(_ statement: SQLStatement, on table: String) -> TableEffect {
        var effect = TableEffect(table: table, lock: .shareUpdateExclusive)
        if statement.begins(with: "create") {
            effect.builtIndexes = ["(concurrently)"]
        } else if statement.begins(with: "reindex") {
            effect.builtIndexes = ["(concurrently)"]
        } else if statement.begins(with: "vacuum") {
            effect.isScanned = true
            if statement.contains("full") {
                effect.lock = .accessExclusive
                effect.isRewritten = true
            }
        } else if statement.begins(with: "cluster") {
            effect.lock = .accessExclusive
            effect.isRewritten = true
        }
        return effect
    }
}
