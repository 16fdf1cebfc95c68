internal import Postgres

/// A constraint that rows of the file violate, as a condition over staged rows: one statement finds them all.
struct Sieve {
    let constraint: String
    /// The positions of the columns that it looks at.
    let columns: [Int]
    private let rule: Rule
    /// The position of the column to blame, where it is one.
    private let column: Int?
    private let sqlstate: String
    private let message: String

    private enum Rule {
        case foreignKey(ForeignKey)
        /// True for a row that is refused; the columns bear the table's names.
        case condition(String)
        case isNull
    }

    /// Reads from an error which constraint it was; nil when it cannot be asked beforehand, since the file
    /// does not fill all of its columns or a trigger may fill them.
    init?(_ error: PostgresError, _ plan: ImportPlan, _ connection: Connection) throws {
        guard !plan.target.facts.hasTriggers, !plan.target.facts.isView, let state = error.state
        else { return nil }
        sqlstate = state.rawValue
        switch state {
        case .foreignKeyViolation:
            guard let name = error.constraint, let key = try ForeignKey(error, plan, connection)
            else { return nil }
            constraint = name
            rule = .foreignKey(key)
            columns = key.columns
            column = key.columns.count == 1 ? key.columns[0] : nil
            message =
                "\(error.message): the row that it refers to is not in \(key.referenced)"
        case .checkViolation:
            guard let name = error.constraint,
                let check = try Self.check(error, plan, connection)
            else { return nil }
            constraint = name
            columns = check.columns
            rule = .condition(check.condition)
            column = nil
            message = error.message
        case .notNullViolation:
            guard let position = plan.columns.firstIndex(where: { $0.name == error.column }) else {
                return nil
            }
            constraint = "\(plan.columns[position].name) is not null"
            columns = [position]
            rule = .isNull
            column = position
            message = error.message
        default:
            return nil
        }
    }

    /// The rows of a selection that do not pass, in order.
    ///
    /// - Throws: What the server says: the role may not look, or the condition fails on a row.
    func refused(
        _ rows: SQL,
        among all: SQL,
        _ plan: ImportPlan,
        _ connection: Connection
    ) throws -> [Int] {
        var refused: [Int] = []
        try connection.savepoint {
            let found = try connection.query(query(rows, among: all, plan))
            refused = try (0..<found.count).map { try found.required($0, 0) }
        }
        return refused
    }

    /// Notes that a row does not pass.
    func refuse(_ row: Int, _ outcome: inout BatchOutcome) {
        outcome.refuse(row, column: column, sqlstate: sqlstate, message: message)
    }

    private func query(_ rows: SQL, among all: SQL, _ plan: ImportPlan) -> SQL {
        switch rule {
        case .isNull:
            let value = "s.bulkhead_c\((column ?? 0) + 1)"
            return """
                select s.bulkhead_n from \(rows)
                where \(unsafe: value) is not distinct from null order by 1
                """
        case .condition(let condition):
            let named = plan.columns.enumerated().map {
                "s.bulkhead_c\($0.offset + 1) as \(quoted(identifier: $0.element.name))"
            }.joined(separator: ", ")
            // In a query of its own, so that the table's names are found before ours.
            return """
                select s.bulkhead_n from \(rows)
                where (select (\(unsafe: condition)) is false from (select \(unsafe: named)) as named) order by 1
                """
        case .foreignKey(let key):
            return """
                select s.bulkhead_n from \(rows)
                where \(key.isOrphan(among: all)) \(setsReference(plan, among: all))
                order by 1
                """
        }
    }

    /// A row that finds its key taken may leave the stored reference as it is.
    private func setsReference(_ plan: ImportPlan, among all: SQL) -> SQL {
        guard plan.policy != .error else { return "" }
        let condition = plan.key.matches(stored: "t", stagedName: plan.stagedName)
        return """
            and not exists (
                select from \(unsafe: plan.target.name) t
                where \(unsafe: condition) \(unsafe: keepsReference(plan)) offset 0)
            \(plan.policy == .skip || plan.policy == .fill ? isFirst(plan, among: all) : "")
            """
    }

    /// Whether the stored row `t` keeps its reference; what is not told here is found by halving.
    private func keepsReference(_ plan: ImportPlan) -> String {
        let changed = columns.map { plan.columns[$0] }.filter(plan.changeable.contains)
        let stored = changed.map { "t.\(quoted(identifier: $0.name))" }
        guard !changed.isEmpty else { return "" }
        guard plan.policy != .fill else {
            return changed.count == 1 ? "and \(stored[0]) is distinct from null" : ""
        }
        let staged = changed.map(plan.stagedName).joined(separator: ", ")
        return
            "and row(\(stored.joined(separator: ", ")))::record operator(pg_catalog.*=) row(\(staged))::record"
    }

    /// Whether no row before it in the batch has its key: that one would be there, and keep its reference.
    private func isFirst(_ plan: ImportPlan, among all: SQL) -> SQL {
        let positions = plan.columns.indices.filter { plan.key.columns.contains(plan.columns[$0]) }
        let keys = positions.map { ", s.bulkhead_c\($0 + 1) as c\($0 + 1)" }.joined()
        let condition = plan.key.matches(
            storedName: { plan.stagedName($0).replacing("s.bulkhead_c", with: "e.c") },
            stagedName: plan.stagedName
        )
        return """
            and not exists (
                select from (select s.bulkhead_n as n\(unsafe: keys) from \(all)) e
                where \(unsafe: condition) and e.n < s.bulkhead_n)
            """
    }

    /// The text of a check whose columns all come from the file.
    private static func check(
        _ error: PostgresError,
        _ plan: ImportPlan,
        _ connection: Connection
    ) throws -> (condition: String, columns: [Int])? {
        let rows = try connection.query(
            """
            select pg_catalog.pg_get_expr(c.conbin, c.conrelid), a.attname
            from pg_catalog.pg_constraint c
            join pg_catalog.pg_class t on t.oid = c.conrelid
            join pg_catalog.pg_namespace n on n.oid = t.relnamespace
            join pg_catalog.pg_attribute a on a.attrelid = c.conrelid and a.attnum = any (c.conkey)
            where n.nspname = \(error.schema) and t.relname = \(error.table)
                and c.conname = \(error.constraint) and c.contype = 'c'
            """
        )
        var columns: [Int] = []
        for row in 0..<rows.count {
            let name: String = try rows.required(row, 1)
            guard let position = plan.columns.firstIndex(where: { $0.name == name }) else {
                return nil
            }
            columns.append(position)
        }
        guard !columns.isEmpty else { return nil }
        return (try rows.required(0, 0), columns)
    }
}
