internal import Postgres

/// A foreign key of the table whose columns all come from the file.
struct ForeignKey {
    /// The positions of its columns among those that the file fills.
    let columns: [Int]
    /// The table that it refers to, quoted for SQL.
    let referenced: String
    private let referencedColumns: [String]
    /// The key's own operators, its side on the left: `=` alone may find others, such as text's for citext.
    private let operators: [String]
    /// The table as the key's check reads it: without the tables that inherit from it.
    private let scanned: String
    /// Where the table refers to itself, the positions of the columns that it refers to.
    private let ownColumns: [Int]?

    /// Looks up the key that an error names; nil when the file does not fill all of its columns, or a
    /// trigger may fill them.
    init?(_ error: PostgresError, _ plan: ImportPlan, _ connection: Connection) throws {
        guard let schema = error.schema, let table = error.table, let constraint = error.constraint,
            !plan.target.facts.hasTriggers
        else { return nil }
        let rows = try connection.query(
            """
            select a.attname, f.attname, pg_catalog.format('%I.%I', fn.nspname, fc.relname),
                c.confrelid = \(plan.target.oid)::oid, fc.relkind = 'p',
                pg_catalog.format('operator(%I.%s)', opn.nspname, op.oprname),
                pg_catalog.row_security_active(fc.oid)
            from pg_catalog.pg_constraint c
            join pg_catalog.pg_class t on t.oid = c.conrelid
            join pg_catalog.pg_namespace n on n.oid = t.relnamespace
            join pg_catalog.pg_class fc on fc.oid = c.confrelid
            join pg_catalog.pg_namespace fn on fn.oid = fc.relnamespace
            cross join lateral unnest(c.conkey, c.confkey, c.conpfeqop)
                with ordinality as k (attnum, fattnum, eqop, n)
            join pg_catalog.pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.attnum
            join pg_catalog.pg_attribute f on f.attrelid = c.confrelid and f.attnum = k.fattnum
            join pg_catalog.pg_operator op on op.oid = k.eqop
            join pg_catalog.pg_namespace opn on opn.oid = op.oprnamespace
            where n.nspname = \(schema) and t.relname = \(table) and c.conname = \(constraint)
                and c.contype = 'f' and c.confmatchtype = 's'
            order by k.n
            """
        )
        // Rows that row security hides are there all the same.
        guard !rows.isEmpty, try !rows.required(0, 6, as: Bool.self) else { return nil }
        var columns: [Int] = []
        var referencedColumns: [String] = []
        var operators: [String] = []
        for row in 0..<rows.count {
            let name: String = try rows.required(row, 0)
            guard let column = plan.columns.firstIndex(where: { $0.name == name }) else {
                return nil
            }
            columns.append(column)
            referencedColumns.append(try rows.required(row, 1))
            operators.append(try rows.required(row, 5))
        }
        self.columns = columns
        self.referencedColumns = referencedColumns
        self.operators = operators
        referenced = try rows.required(0, 2)
        scanned = try rows.required(0, 4) ? referenced : "only \(referenced)"
        if try rows.required(0, 3) {
            let own = referencedColumns.compactMap { name in
                plan.columns.firstIndex { $0.name == name }
            }
            guard own.count == referencedColumns.count else { return nil }
            ownColumns = own
        } else {
            ownColumns = nil
        }
    }

    /// Whether a staged row refers to nothing, neither in the table nor among all that are staged.
    func isOrphan(among all: SQL) -> SQL {
        let present = columns.map { "s.bulkhead_c\($0 + 1) is not null" }.joined(separator: " and ")
        let there = columns.indices.map { part in
            "r.\(quoted(identifier: referencedColumns[part])) \(operators[part]) s.bulkhead_c\(columns[part] + 1)"
        }.joined(separator: " and ")
        // OFFSET 0: a lookup for each row, never a scan of the table that is referred to.
        let inTable: SQL = """
            \(unsafe: present) and not exists (
                select from \(unsafe: scanned) r where \(unsafe: there) offset 0)
            """
        guard let ownColumns else { return inTable }
        let staged = ownColumns.indices.map { part in
            "o.own\(part) \(operators[part]) s.bulkhead_c\(columns[part] + 1)"
        }.joined(separator: " and ")
        let own = ownColumns.indices.map { "s.bulkhead_c\(ownColumns[$0] + 1) as own\($0)" }
            .joined(separator: ", ")
        return """
            \(inTable) and not exists (
                select from (select \(unsafe: own) from \(all)) o where \(unsafe: staged))
            """
    }
}
