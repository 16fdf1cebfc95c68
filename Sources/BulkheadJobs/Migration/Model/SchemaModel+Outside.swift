extension SchemaModel {
    /// The foreign keys to tables that the model does not have, by table and name.
    ///
    /// To make them, even in a schema that is rolled back, would lock the tables that they refer to.
    var outsideKeys: [String: [String: String]] {
        tables.mapValues { table in
            Dictionary(uniqueKeysWithValues: table.foreignKeys.filter { isOutside($0.value) })
        }.filter { !$0.value.isEmpty }
    }

    private func isOutside(_ definition: String) -> Bool {
        guard let reference = ForeignReference(definition) else { return true }
        return reference.schema != nil || !tables.keys.contains(reference.table)
    }

    /// The same model without some constraints.
    func without(_ keys: [String: [String: String]]) -> SchemaModel {
        var model = self
        for (table, constraints) in keys {
            for name in constraints.keys { model.tables[table]?.constraints[name] = nil }
        }
        return model
    }

    /// Puts those keys back that a declared model no longer has, so that they are dropped.
    mutating func keep(
        _ keys: [String: [String: String]],
        missingIn declared: SchemaModel,
        _ renames: [ModelRename]
    ) {
        for (former, constraints) in keys {
            let rename = renames.first { $0.column == nil && $0.table == former }
            let table = rename?.newName ?? former
            for (name, definition) in constraints {
                // A key of that name that is no longer an outside one takes its place.
                guard declared.outsideKeys[table]?[name] == nil else { continue }
                tables[table]?.constraints[name] = definition
            }
        }
    }

    /// What is to be said of keys to tables outside the model, against those that are there.
    func problems(
        of keys: [String: [String: String]],
        live: [String: [String: String]],
        _ renames: [ModelRename]
    ) -> [String] {
        keys.sorted { $0.key < $1.key }.flatMap { table, constraints in
            let former = renames.first { $0.column == nil && $0.newName == table }?.table ?? table
            return constraints.sorted { $0.key < $1.key }
                .filter { live[former]?[$0.key] != $0.value }
                .map { name, definition in
                    let target = ForeignReference(definition).map {
                        [$0.schema, $0.table].compactMap(\.self).joined(separator: ".")
                    }
                    return
                        "\(name) of \(table) refers to \(target ?? "no table"), which the model does not have, and is "
                        + "not what is there: add that table to it (without its schema), or write the key's steps by hand"
                }
        }
    }
}
