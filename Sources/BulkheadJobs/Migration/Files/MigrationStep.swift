/// One step of a migration's file: statements that are run in one way.
package struct MigrationStep: Sendable, Equatable {
    package let kind: Kind
    /// The line of the file on which it begins, from 1.
    package let line: Int
    package let statements: [SQLStatement]
    /// The tables that the file says it is about; nil where it does not say.
    package let namedTables: [String]?

    package enum Kind: Sendable, Equatable {
        /// All statements in one transaction.
        case transaction
        /// One statement after another, each outside a transaction where it refuses one.
        case concurrently
        /// One statement again and again, each time for another stretch of a table's rows.
        case backfill(Backfill)

        /// The word by which comments and records call it.
        package var name: String {
            switch self {
            case .transaction: "transaction"
            case .concurrently: "concurrently"
            case .backfill: "backfill"
            }
        }
    }

    /// What `-- bulkhead: backfill TABLE [batch=N] [until EXPR]` says.
    package struct Backfill: Sendable, Equatable {
        /// The table whose rows are walked, as it is written.
        package let table: String
        /// Rows in a batch; nil lets them be chosen.
        package let batch: Int?
        /// What is true of a row that is done.
        package let until: String?
    }

    /// The step as text: what was run, for telling whether it was changed since.
    package var text: String {
        var head = kind.name
        if case .backfill(let backfill) = kind {
            head += " \(backfill.table) until \(backfill.until ?? "the end")"
        }
        return ([head] + statements.map(\.text)).joined(separator: ";\n")
    }
}
