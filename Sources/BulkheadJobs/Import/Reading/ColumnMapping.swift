/// Which field of a record goes to which column of the table.
struct ColumnMapping: Sendable, Equatable {
    /// The fields that every record of the file must have.
    let fieldCount: Int
    /// The indices of the fields that are loaded.
    let fields: [Int]
    /// The table's columns that they go to, one for each, as the table spells them.
    let columns: [String]

    /// Maps the names of a header or of `--columns`; without names, the columns of the table that
    /// take values, in order.
    init(
        names: [String]?,
        renames: [ColumnRename] = [],
        table: [TableColumn]
    ) throws(MappingError) {
        let names = names ?? table.filter { !$0.isGenerated }.map(\.name)
        var fields: [Int] = []
        var targets: [Int] = []
        for (field, target) in try Self.targets(of: names, renames, in: table).enumerated() {
            if case .column(let column) = target {
                fields.append(field)
                targets.append(column)
            }
        }
        try Self.check(targets, from: fields.map { names[$0] }, in: table)
        fieldCount = names.count
        self.fields = fields
        columns = targets.map { table[$0].name }
    }

    private enum Target {
        case column(Int)
        case dropped
    }

    private static func check(
        _ targets: [Int],
        from names: [String],
        in table: [TableColumn]
    ) throws(MappingError) {
        var sources: [Int: String] = [:]
        for (target, name) in zip(targets, names) {
            if table[target].isGenerated {
                throw .generated(table[target].name, from: name)
            }
            if let other = sources.updateValue(name, forKey: target) {
                throw .collision(table[target].name, other, name)
            }
        }
        for (target, column) in table.enumerated() where sources[target] == nil {
            if column.isRequired, !column.isGenerated {
                throw .missing(column.name)
            }
        }
        if targets.isEmpty {
            throw .empty
        }
    }

    private static func targets(
        of names: [String],
        _ renames: [ColumnRename],
        in table: [TableColumn]
    ) throws(MappingError) -> [Target] {
        let columns = NameIndex(table.map(\.name))
        let fields = NameIndex(names)
        let chosen = try chosen(by: renames, fields: fields, columns: columns)
        var targets: [Target] = []
        for (field, name) in names.enumerated() {
            if case .dropped = chosen[field] {
                targets.append(.dropped)
                continue
            }
            // Columns of one name may all be dropped; which one to load, nobody could say.
            if case .places(let repeated) = fields.match(name), repeated.count > 1 {
                throw name.isEmpty ? .unnamed(field: field + 1) : .repeated(name, fields: repeated)
            }
            if let target = chosen[field] {
                targets.append(target)
            } else {
                targets.append(.column(try column(for: name, field: field, in: columns)))
            }
        }
        return targets
    }

    private static func column(
        for name: String,
        field: Int,
        in columns: NameIndex
    ) throws(MappingError) -> Int {
        if name.isEmpty {
            throw .unnamed(field: field + 1)
        }
        switch columns.match(name) {
        case .places(let places): return places[0]
        case .ambiguous(let candidates): throw .ambiguous(name, candidates: candidates)
        case .none: throw .unknown(name)
        }
    }

    /// What `--map` says, by field.
    private static func chosen(
        by renames: [ColumnRename],
        fields: NameIndex,
        columns: NameIndex
    ) throws(MappingError) -> [Int: Target] {
        var chosen: [Int: Target] = [:]
        for rename in renames {
            let target = try target(of: rename, in: columns)
            switch fields.match(rename.fileName) {
            case .places(let places):
                for field in places where chosen.updateValue(target, forKey: field) != nil {
                    throw .mappedTwice(rename.fileName)
                }
            case .ambiguous(let candidates):
                throw .ambiguousSource(rename.fileName, candidates: candidates)
            case .none: throw .unknownSource(rename.fileName)
            }
        }
        return chosen
    }

    private static func target(
        of rename: ColumnRename,
        in columns: NameIndex
    ) throws(MappingError) -> Target {
        guard let column = rename.column else { return .dropped }
        switch columns.match(column) {
        case .places(let places): return .column(places[0])
        case .ambiguous(let candidates): throw .ambiguousTarget(column, candidates: candidates)
        case .none: throw .unknownTarget(column, from: rename.fileName)
        }
    }
}
