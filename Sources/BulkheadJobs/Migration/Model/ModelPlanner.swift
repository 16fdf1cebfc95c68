internal import Bulkhead
public import Postgres

/// Infers what brings the tables of a schema to a declared model, by steps that make nobody wait for long.
///
/// It never guesses a rename: without a stated one, a name that is gone and a name that is new are two columns.
public struct ModelPlanner {
    private let live: SchemaModel
    private let wanted: SchemaModel
    /// The wanted one as its author wrote it.
    private let declared: SchemaModel
    private let probe: ModelProbe
    private let renames: [ModelRename]
    private let write: NameWriter
    private var plan = ModelPlan()

    /// Compares a declared model with what is there.
    ///
    /// - Parameters:
    ///   - declared: The model.
    ///   - connection: Is not in a transaction; its role may create a schema.
    /// - Returns: The plan.
    /// - Throws: `JobFailure` when the model cannot be made at all.
    public static func plan(_ declared: SchemaModel, _ connection: Connection) throws -> ModelPlan {
        let write = try NameWriter(connection)
        let found = try CatalogModel(schema: declared.schema, connection)
        let renames = ModelRename.all(from: found.model, to: declared)
        let declaredKeys = declared.outsideKeys
        let liveKeys = found.model.outsideKeys
        let wanted = try declared.without(declaredKeys).normal(connection)
        // With the new names, so that what a rename alone changes is no difference.
        var live = found.model.without(liveKeys)
        if !renames.isEmpty { live = try live.normal(after: renames, connection) }
        live.keep(liveKeys, missingIn: declared, renames)
        var planner = ModelPlanner(
            live: live,
            wanted: wanted,
            declared: declared,
            probe: ModelProbe(schema: declared.schema, connection: connection),
            renames: renames,
            write: write
        )
        planner.plan.notes = found.notes.map { "\($0): it is left as it is" }
        planner.plan.problems = declared.problems(of: declaredKeys, live: liveKeys, renames)
        for rename in renames {
            planner.plan.transaction(
                rename.reason,
                rename.statement(schema: declared.schema, write)
            )
        }
        try planner.compareTables()
        return planner.plan
    }

    private init(
        live: SchemaModel,
        wanted: SchemaModel,
        declared: SchemaModel,
        probe: ModelProbe,
        renames: [ModelRename],
        write: NameWriter
    ) {
        self.renames = renames
        self.write = write
        self.live = live
        self.wanted = wanted
        self.declared = declared
        self.probe = probe
    }

    private func name(_ table: String) -> String { write(live.schema, table) }

    // MARK: Tables

    private mutating func compareTables() throws {
        let names = wanted.tables.keys.sorted()
        for table in names where live.tables[table] == nil { create(table) }
        for table in names {
            guard let old = live.tables[table], let new = wanted.tables[table] else { continue }
            dropConstraintsAndIndexes(table, old, new)
            try compareColumns(table, old, new)
            addConstraintsAndIndexes(table, old, new)
        }
        for table in names where live.tables[table] == nil { addForeignKeys(table) }
        for table in live.tables.keys.sorted() where wanted.tables[table] == nil {
            plan.notes.append("\(table) is not in the model: it is left as it is; drop it by hand")
        }
    }

    private mutating func create(_ table: String) {
        guard let model = wanted.tables[table] else { return }
        let indexes = model.indexes.sorted { $0.key < $1.key }.map { index in
            TableModel.indexCreation(
                index.key,
                on: name(table),
                index.value,
                concurrently: false,
                write
            )
        }
        plan.add("transaction", "create \(table)", [model.creation(name(table), write)] + indexes)
    }

    /// Of a table that is new: nobody has rows that could break them.
    private mutating func addForeignKeys(_ table: String) {
        for key in wanted.tables[table]?.foreignKeys ?? [] {
            plan.transaction(
                "let \(table) refer by \(key.key)",
                "alter table \(name(table)) add constraint \(write(key.key)) \(key.value)"
            )
        }
    }

    // MARK: Columns

    private mutating func compareColumns(
        _ table: String,
        _ old: TableModel,
        _ new: TableModel
    ) throws {
        for column in new.columns {
            if let found = old.column(column.name) {
                try change(found, to: column, of: table, old)
            } else {
                try add(column, to: table)
            }
        }
        for column in old.columns where new.column(column.name) == nil {
            plan.transaction(
                "drop \(table).\(column.name), which the model does not have",
                "alter table \(name(table)) drop column \(write(column.name))"
            )
        }
    }

    private mutating func add(_ column: ColumnModel, to table: String) throws {
        if column.generated != nil || column.identity != nil || column.isSerial {
            plan.problems.append(
                "\(table).\(column.name) gives every row a value of its own, so adding it writes the whole table anew: "
                    + "write a step `alter table \(table) add column \(column.definition(write))` for a quiet hour"
            )
            return
        }
        let isVolatile = try probe.isVolatile(column)
        let alter = "alter table \(name(table))"
        if column.backfill == nil, !isVolatile {
            guard !column.isRequired || column.defaultValue != nil else {
                plan.problems.append(
                    "\(table).\(column.name) is required, and the rows that are there have no value for it: "
                        + remedy(column, of: table)
                )
                return
            }
            plan.transaction(
                "add \(table).\(column.name)",
                "\(alter) add column \(column.definition(write))"
            )
            return
        }
        let name = write(column.name)
        var statements = ["\(alter) add column \(name) \(column.type)"]
        if let value = column.defaultValue {
            statements.append("\(alter) alter column \(name) set default \(value)")
        }
        plan.add("transaction", "add \(table).\(column.name), empty at first", statements)
        backfill(column, of: table)
        if column.isRequired { require(column, of: table) }
    }

    private func remedy(_ column: ColumnModel, of table: String) -> String {
        let isStated = declared.tables[table]?.column(column.name)?.isRequired == true
        // The server requires them without being told.
        let key = "a primary key's columns are required: write \"required\": true, and "
        return "\(isStated ? "" : key)give it a default or a backfill"
    }

    private mutating func backfill(_ column: ColumnModel, of table: String) {
        guard let value = column.backfill ?? column.defaultValue else { return }
        let name = write(column.name)
        plan.add(
            "backfill \(self.name(table)) until \(name) is not null",
            "fill \(table).\(column.name) of the rows that are there",
            ["update \(self.name(table)) set \(name) = \(value) where \(name) is null and {batch}"]
        )
    }

    /// By a check that is validated first: then SET NOT NULL need not look at the rows.
    private mutating func require(_ column: ColumnModel, of table: String) {
        let name = write(column.name)
        let alter = "alter table \(self.name(table))"
        let constraints = [live, wanted].flatMap {
            $0.tables[table].map { Array($0.constraints.keys) } ?? []
        }
        let check = write(
            FreeName.make("\(table)_\(column.name)", "_is_there", taken: Set(constraints))
        )
        plan.transaction(
            "from now on \(table).\(column.name) is required",
            "\(alter) add constraint \(check) check (\(name) is not null) not valid"
        )
        if column.backfill != nil || column.defaultValue != nil {
            // Rows that came without a value while the first one ran.
            backfill(column, of: table)
        }
        plan.transaction("look at the rows that are there", "\(alter) validate constraint \(check)")
        plan.transaction(
            "require \(table).\(column.name)",
            "\(alter) alter column \(name) set not null",
            "\(alter) drop constraint \(check)"
        )
    }

    private mutating func change(
        _ old: ColumnModel,
        to new: ColumnModel,
        of table: String,
        _ oldTable: TableModel
    ) throws {
        let path = "\(table).\(new.name)"
        let name = write(new.name)
        let alter = "alter table \(self.name(table))"
        if old.generated != new.generated || old.identity != new.identity
            || old.isSerial != new.isSerial
        {
            plan.problems.append(
                "\(path) gets its values in another way (generated, identity or serial): write the steps by hand"
            )
            return
        }
        if old.type != new.type {
            try changeType(old, to: new, of: table, oldTable)
        }
        if old.defaultValue != new.defaultValue {
            plan.transaction(
                "change the default of \(path)",
                new.defaultValue.map { "\(alter) alter column \(name) set default \($0)" }
                    ?? "\(alter) alter column \(name) drop default"
            )
        }
        if old.isRequired, !new.isRequired {
            plan.transaction("\(path) may be NULL", "\(alter) alter column \(name) drop not null")
        } else if !old.isRequired, new.isRequired {
            guard new.backfill != nil || new.defaultValue != nil else {
                plan.problems.append(
                    "\(path) becomes required, and rows that are there may be NULL: "
                        + remedy(new, of: table)
                )
                return
            }
            backfill(new, of: table)
            require(new, of: table)
        }
    }

    private mutating func changeType(
        _ old: ColumnModel,
        to new: ColumnModel,
        of table: String,
        _ oldTable: TableModel
    ) throws {
        let path = "\(table).\(new.name)"
        switch try probe.typeChange(from: old.type, to: new.type) {
        case .free:
            plan.transaction(
                "\(path) becomes \(new.type), in the catalog alone",
                "alter table \(name(table)) alter column \(write(new.name)) type \(new.type)"
            )
        case .needsExpression where new.backfill == nil:
            plan.problems.append(
                "\(path) becomes \(new.type), and no cast makes it of \(old.type): say how by a backfill, such as "
                    + "\"\(new.name)::text::\(new.type)\""
            )
        case .lossy where new.backfill == nil:
            plan.problems.append(
                "\(path) becomes \(new.type), and a cast of \(old.type) may cut, round or refuse a value: "
                    + "say how by a backfill, such as \"\(write(new.name))::\(new.type)\""
            )
        case .rewrite, .lossy, .needsExpression:
            try expand(old, to: new, of: table, oldTable)
        }
    }

    /// A column of the new type beside the old one, kept by a trigger and filled in batches; then the names
    /// change places.
    private mutating func expand(
        _ old: ColumnModel,
        to new: ColumnModel,
        of table: String,
        _ oldTable: TableModel
    ) throws {
        let path = "\(table).\(new.name)"
        let name = write(new.name)
        let uses = (oldTable.constraints.merging(oldTable.indexes) { one, _ in one })
            .filter { $0.value.contains(new.name) }.map(\.key).sorted()
        guard uses.isEmpty, !old.isRequired, old.defaultValue == nil else {
            let what = uses.isEmpty ? "its default and NOT NULL" : uses.joined(separator: ", ")
            plan.problems.append(
                "\(path) becomes \(new.type), which writes the whole table anew, and \(what) would have to follow: "
                    + "write it as expand and contract by hand (a new column, a trigger, a backfill, then the swap)"
            )
            return
        }
        let place = ModelRename.former(table, new.name, renames)
        let dependents = try probe.dependents(of: place.column, in: place.table)
        guard dependents.isEmpty else {
            plan.problems.append(
                "\(path) becomes \(new.type), which takes another column, and \(dependents.joined(separator: ", ")) "
                    + "hangs on this one: write it as expand and contract by hand"
            )
            return
        }
        let columns = (oldTable.columns + (wanted.tables[table]?.columns ?? [])).map(\.name)
        let taken = try probe.names().union(columns)
        let fresh = write(FreeName.make(new.name, "_new", taken: taken))
        let former = write(FreeName.make(new.name, "_old", taken: taken))
        let both = FreeName.make("\(table)_\(new.name)", "_both", taken: taken)
        let trigger = write(both)
        let function = write(live.schema, both)
        let table = self.name(table)
        let value = new.backfill ?? "\(name)::\(new.type)"
        plan.add(
            "transaction",
            "expand: \(path) also as \(new.type), kept by a trigger",
            [
                "alter table \(table) add column \(fresh) \(new.type)",
                """
                create function \(function)() returns trigger language plpgsql as $body$
                begin
                    select \(value) into new.\(fresh) from (select new.*) as r;
                    return new;
                end $body$
                """,
                "create trigger \(trigger) before insert or update on \(table) for each row execute function \(function)()",
            ]
        )
        plan.add(
            "backfill \(table) until \(fresh) is not null or \(name) is null",
            "fill it for the rows that are there",
            [
                "update \(table) set \(fresh) = \(value) where \(fresh) is null and \(name) is not null and {batch}"
            ]
        )
        plan.add(
            "transaction",
            "contract: the new column takes the name",
            [
                "drop trigger \(trigger) on \(table)", "drop function \(function)()",
                "alter table \(table) rename column \(name) to \(former)",
                "alter table \(table) rename column \(fresh) to \(name)",
                "alter table \(table) drop column \(former)",
            ]
        )
    }

    // MARK: Constraints and indexes

    private mutating func dropConstraintsAndIndexes(
        _ table: String,
        _ old: TableModel,
        _ new: TableModel
    ) {
        for (constraint, definition) in old.constraints.sorted(by: { $0.key < $1.key })
        where new.constraints[constraint] != definition {
            plan.transaction(
                "drop constraint \(constraint) of \(table)",
                "alter table \(name(table)) drop constraint \(write(constraint))"
            )
        }
        for (index, definition) in old.indexes.sorted(by: { $0.key < $1.key })
        where new.indexes[index] != definition {
            plan.concurrently(
                "drop index \(index)",
                "drop index concurrently \(write(live.schema, index))"
            )
        }
    }

    private mutating func addConstraintsAndIndexes(
        _ table: String,
        _ old: TableModel,
        _ new: TableModel
    ) {
        for (constraint, definition) in new.constraints.sorted(by: { $0.key < $1.key })
        where old.constraints[constraint] != definition {
            add(constraint, definition, to: table)
        }
        for (index, definition) in new.indexes.sorted(by: { $0.key < $1.key })
        where old.indexes[index] != definition {
            plan.concurrently(
                "build index \(index)",
                TableModel.indexCreation(
                    index,
                    on: name(table),
                    definition,
                    concurrently: true,
                    write
                )
            )
        }
    }

    private mutating func add(_ constraint: String, _ definition: String, to table: String) {
        let alter = "alter table \(name(table))"
        let name = write(constraint)
        let word = definition.lowercased()
        if word.hasPrefix("check") || word.hasPrefix("foreign key") {
            plan.transaction(
                "from now on \(constraint) holds for \(table)",
                "\(alter) add constraint \(name) \(definition) not valid"
            )
            plan.transaction(
                "look at the rows that are there",
                "\(alter) validate constraint \(name)"
            )
        } else if let key = UniqueKey(definition) {
            plan.concurrently(
                "build the index of \(constraint)",
                "create unique index concurrently \(name) on \(self.name(table)) \(key.index)"
            )
            plan.transaction(
                "let it be the constraint",
                "\(alter) add constraint \(name) \(key.kind) using index \(name)\(key.timing)"
            )
        } else {
            plan.problems.append(
                "\(constraint) of \(table) (\(definition)) cannot be added without a long lock: "
                    + "write `\(alter) add constraint \(name) \(definition)` for a quiet hour"
            )
        }
    }
}

/// A primary or unique key as the server writes it, taken apart for the index that it can be made of.
private struct UniqueKey {
    let kind: String
    /// What stands behind the index's table.
    let index: String
    /// When it is checked.
    let timing: String

    init?(_ definition: String) {
        guard let columns = definition.firstIndex(of: "(") else { return nil }
        let head = definition[..<columns].lowercased()
        guard head.hasPrefix("unique") || head.hasPrefix("primary key") else { return nil }
        kind = head.hasPrefix("unique") ? "unique" : "primary key"
        var rest = String(definition[columns...])
        var timing = ""
        if let deferred = rest.firstRange(of: " DEFERRABLE") {
            timing = String(rest[deferred.lowerBound...])
            rest = String(rest[..<deferred.lowerBound])
        }
        index = rest + (head.contains("nulls not distinct") ? " nulls not distinct" : "")
        self.timing = timing
    }
}
