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
        let targets = try Self.targets(of: names, renames: renames, in: table)
        var sources: [Int: Int] = [:]
        for (field, target) in targets.enumerated() {
            guard let target else { continue }
            let column = table[target]
            if column.isGenerated {
                throw .generated(column.name, from: names[field])
            }
            if let other = sources.updateValue(field, forKey: target) {
                throw .collision(column.name, names[other], names[field])
            }
        }
        for (index, column) in table.enumerated() where sources[index] == nil {
            if column.isRequired, !column.isGenerated {
                throw .missing(column.name)
            }
        }
        if sources.isEmpty {
            throw .empty
        }
        let loaded = targets.enumerated().compactMap { field, target in
            target.map { (field, table[$0].name) }
        }
        fieldCount = names.count
        fields = loaded.map(\.0)
        columns = loaded.map(\.1)
    }

    /// For each field of the file the column it goes to, nil when it is dropped.
    private static func targets(
        of names: [String],
        renames: [ColumnRename],
        in table: [TableColumn]
    ) throws(MappingError) -> [Int?] {
        let columns = NameIndex(table.map(\.name))
        let renamed = try resolve(renames, names: names, columns: columns)
        let repeats = NameIndex(names)
        var targets: [Int?] = []
        for (field, name) in names.enumerated() {
            if let target = renamed[field] {
                // Several columns of one name may all be dropped, but not all be loaded.
                if target != nil, case .places(let fields) = repeats.match(name), fields.count > 1 {
                    throw .repeated(name, fields: fields)
                }
                targets.append(target)
                continue
            }
            if name.isEmpty {
                throw .unnamed(field: field + 1)
            }
            if case .places(let fields) = repeats.match(name), fields.count > 1 {
                throw .repeated(name, fields: fields)
            }
            switch columns.match(name) {
            case .places(let places): targets.append(places.first)
            case .ambiguous(let candidates): throw .ambiguous(name, candidates: candidates)
            case .none: throw .unknown(name)
            }
        }
        return targets
    }

    /// The fields that `--map` speaks of, with the column each goes to.
    private static func resolve(
        _ renames: [ColumnRename],
        names: [String],
        columns: NameIndex
    ) throws(MappingError) -> [Int: Int?] {
        let sources = NameIndex(names)
        var resolved: [Int: Int?] = [:]
        for rename in renames {
            let target = try rename.column.map { (column) throws(MappingError) -> Int? in
                switch columns.match(column) {
                case .places(let places): places.first
                case .ambiguous(let names): throw .ambiguousTarget(column, candidates: names)
                case .none: throw .unknownTarget(column, from: rename.fileName)
                }
            }
            switch sources.match(rename.fileName) {
            case .none: throw .unknownSource(rename.fileName)
            case .ambiguous(let names): throw .ambiguousSource(rename.fileName, candidates: names)
            case .places(let fields):
                for field in fields where resolved.updateValue(target ?? nil, forKey: field) != nil
                {
                    throw .mappedTwice(rename.fileName)
                }
            }
        }
        return resolved
    }
}
