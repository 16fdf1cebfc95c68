internal import Postgres

/// A rename that a declared model states.
struct ModelRename {
    let table: String
    /// The column; nil for the table itself.
    let column: String?
    let newName: String

    var reason: String {
        "rename \(column.map { "\(table).\($0)" } ?? table) to \(newName)"
    }

    func statement(schema: String, _ write: NameWriter) -> String {
        let part = column.map { " column \(write($0))" } ?? ""
        return
            "alter table \(write(schema, table)) rename\(part) to \(write(newName))"
    }

    /// What a column and its table are called before the renames.
    static func former(
        _ table: String,
        _ column: String,
        _ renames: [ModelRename]
    ) -> (table: String, column: String) {
        let oldTable = renames.first { $0.column == nil && $0.newName == table }?.table
        let oldColumn = renames.first { $0.table == table && $0.newName == column }?.column
        return (oldTable ?? table, oldColumn ?? column)
    }

    /// The renames that lead from one model to another, tables first.
    static func all(from live: SchemaModel, to declared: SchemaModel) -> [ModelRename] {
        var renames: [ModelRename] = []
        var columns: [ModelRename] = []
        for (name, table) in declared.tables.sorted(by: { $0.key < $1.key }) {
            var found = live.tables[name]
            if found == nil, let former = table.renamedFrom, let old = live.tables[former],
                declared.tables[former] == nil
            {
                renames.append(ModelRename(table: former, column: nil, newName: name))
                found = old
            }
            guard let found else { continue }
            for column in table.columns where found.column(column.name) == nil {
                guard let former = column.renamedFrom, found.column(former) != nil,
                    table.column(former) == nil
                else { continue }
                columns.append(ModelRename(table: name, column: former, newName: column.name))
            }
        }
        return renames + columns
    }
}
