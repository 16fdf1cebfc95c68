internal import Bulkhead
internal import Postgres

extension SchemaModel {
    private static let scratch = "bulkhead_model"

    /// The same model as the server writes it, so that it can be compared with what is there.
    ///
    /// The server itself makes the tables, in a schema of their own and a transaction that is rolled back: no table
    /// that is there is touched.
    ///
    /// Its keys to tables outside it must have been taken from it.
    ///
    /// - Throws: `JobFailure` that names the table that cannot be made.
    func normal(
        after renames: [ModelRename] = [],
        _ connection: Connection
    ) throws -> SchemaModel {
        return try connection.transaction { connection in
            try connection.takingBack {
                try make(connection)
                for rename in renames {
                    let statement = try rename.statement(
                        schema: Self.scratch,
                        NameWriter(connection)
                    )
                    try run(statement, rename.table, connection)
                }
                let made = try CatalogModel(
                    schema: Self.scratch,
                    path: [Self.scratch, schema],
                    connection
                )
                return stating(made.model)
            }
        }
    }

    private func make(_ connection: Connection) throws {
        try connection.run(script: "create schema \(Self.scratch)")
        let write = try NameWriter(connection)
        let path = "\(Self.scratch), \(write(schema))"
        try connection.query("select pg_catalog.set_config('search_path', \(path), true)")
        let sorted = tables.sorted { $0.key < $1.key }
        for (name, table) in sorted {
            let scratch = write(Self.scratch, name)
            try run(table.creation(scratch, write), name, connection)
            for (index, definition) in table.indexes.sorted(by: { $0.key < $1.key }) {
                let create = TableModel.indexCreation(
                    index,
                    on: scratch,
                    definition,
                    concurrently: false,
                    write
                )
                try run(create, name, connection)
            }
        }
        for (name, table) in sorted {
            for key in table.foreignKeys {
                let add = "add constraint \(write(key.key)) \(key.value)"
                try run("alter table \(write(Self.scratch, name)) \(add)", name, connection)
            }
        }
    }

    private func run(_ statement: String, _ table: String, _ connection: Connection) throws {
        do throws(PostgresError) {
            try connection.query(SQL(unsafe: statement))
        } catch {
            throw JobFailure(
                "the model's table \(table) cannot be made: \(error.message)",
                detail: statement,
                sqlstate: error.state?.rawValue
            )
        }
    }

    /// What only a declared model says, put beside what the server wrote.
    private func stating(_ made: SchemaModel) -> SchemaModel {
        var normal = SchemaModel(schema: schema, tables: made.tables)
        for (name, table) in tables {
            normal.tables[name]?.renamedFrom = table.renamedFrom
            for column in table.columns {
                let place = normal.tables[name]?.columns.firstIndex { $0.name == column.name }
                guard let place else { continue }
                normal.tables[name]?.columns[place].renamedFrom = column.renamedFrom
                normal.tables[name]?.columns[place].backfill = column.backfill
            }
        }
        return normal
    }
}

extension TableModel {
    /// Creates an index from its definition in a model.
    static func indexCreation(
        _ name: String,
        on table: String,
        _ definition: String,
        concurrently: Bool,
        _ write: NameWriter
    ) -> String {
        let isUnique = definition.lowercased().hasPrefix("unique ")
        let rest = isUnique ? String(definition.dropFirst("unique ".count)) : definition
        return "create \(isUnique ? "unique " : "")index \(concurrently ? "concurrently " : "")"
            + "\(write(name)) on \(table) \(rest)"
    }
}
