/// Sorts the names in a directory into migrations, files that take them back, and others.
struct MigrationNames {
    struct Entry: Equatable {
        let name: String
        let version: MigrationVersion
        var down: String?
    }

    private var entries: [MigrationVersion: Entry] = [:]
    private var downs: [MigrationVersion: String] = [:]
    private(set) var notes: [String] = []

    /// Looks at one name.
    ///
    /// - Throws: `MigrationError` for a number that another file has, and for kinds of files whose meaning
    ///   would be lost.
    mutating func add(_ name: String) throws(MigrationError) {
        guard !name.hasPrefix(".") else { return }
        guard name.hasSuffix(".sql") else {
            notes.append("\(name) is not read: its name does not end in .sql")
            return
        }
        try refuseRepeatable(name)
        guard let version = MigrationVersion(fileName: name) else {
            notes.append(
                Self.isUndo(name)
                    ? "\(name) is not read: write how to take a file back into the file, behind -- bulkhead: down"
                    : "\(name) is not read: its name does not begin with a number"
            )
            return
        }
        if name.hasSuffix(".down.sql") {
            try addDown(name, version)
        } else if let other = entries.updateValue(
            Entry(name: name, version: version),
            forKey: version
        ) {
            throw MigrationError(
                "\(other.name) and \(name) have the same number: rename one of them"
            )
        }
    }

    /// The migrations by their numbers.
    ///
    /// - Throws: `MigrationError` for a file that takes back what is not there.
    func ordered() throws(MigrationError) -> [Entry] {
        var entries = entries
        for (version, down) in downs {
            guard entries[version]?.name.hasSuffix(".up.sql") == true else {
                throw MigrationError(
                    "\(down) has no file \(version) beside it that ends in .up.sql"
                )
            }
            entries[version]?.down = down
        }
        return entries.values.sorted { $0.version < $1.version }
    }

    private mutating func addDown(_ name: String, _ version: MigrationVersion)
        throws(MigrationError)
    {
        if let other = downs.updateValue(name, forKey: version) {
            throw MigrationError("\(other) and \(name) have the same number: rename one of them")
        }
    }

    /// Flyway's repeatable and baseline files.
    private func refuseRepeatable(_ name: String) throws(MigrationError) {
        if name.hasPrefix("R__") {
            throw MigrationError(
                "\(name) is a repeatable migration of Flyway, which Bulkhead does not have: give it a number, "
                    + "and each new version of it another"
            )
        }
        if name.hasPrefix("B"), MigrationVersion(fileName: "V" + name.dropFirst()) != nil {
            throw MigrationError(
                "\(name) is a baseline migration of Flyway, which Bulkhead does not have: move it elsewhere, and "
                    + "use --baseline for a database that is there already"
            )
        }
    }

    private static func isUndo(_ name: String) -> Bool {
        name.hasPrefix("U") && MigrationVersion(fileName: "V" + name.dropFirst()) != nil
    }
}
