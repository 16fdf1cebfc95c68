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
