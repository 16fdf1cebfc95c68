/// What a dry run of a migration saw, step by step.
package struct MigrationForecast: Encodable, Sendable {
    /// The steps, in their order.
    package var steps: [Step] = []
    /// What could not be copied or tried.
    package var notes: [String] = []

    /// Whether some step would keep readers or writers waiting.
    package var isBlocking: Bool {
        steps.contains { $0.statements.contains { $0.tables.contains(where: \.isBlocking) } }
    }

    /// A step of a file.
    package struct Step: Encodable, Sendable {
        package let file: String
        package let line: Int
        package let kind: String
        package var statements: [Statement] = []
        /// Why it failed in the scratch database; nil where it did not.
        package var error: String?
    }

    /// A statement.
    package struct Statement: Encodable, Sendable {
        package let line: Int
        package let sql: String
        package var tables: [Table] = []
        /// The safe form.
        package var recipe: [String] = []
        /// Why it was not tried; nil where it was.
        package var notTried: String?

        private enum CodingKeys: String, CodingKey {
            case line, sql, tables, recipe
            case notTried = "not_tried"
        }
    }

    /// What it does to a table.
    package struct Table: Encodable, Sendable {
        package let table: String
        /// As SQL names it; nil for none.
        package let lock: String?
        package let isRewritten: Bool
        package let isScanned: Bool
        package let indexes: [String]
        /// Of the live table.
        package let bytes: Int64
        package let rows: Int64
        /// The estimated time that the table is kept busy.
        package let seconds: Double
        /// Who waits for so long; nil for nobody.
        package let blocks: String?

        package var isBlocking: Bool { blocks != nil }

        private enum CodingKeys: String, CodingKey {
            case table, lock
            case isRewritten = "rewritten"
            case isScanned = "scanned"
            case indexes, bytes, rows, seconds, blocks
        }
    }
}
