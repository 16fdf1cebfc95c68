/// One numbered file of a migration: its name and text, without a place on a disk.
package struct MigrationFile: Sendable, Equatable {
    /// The file's own name, without directories.
    package let name: String
    package let version: MigrationVersion
    package let text: String
    /// How to take it back, where another file says it (`0007_x.down.sql`).
    package let downText: String?

    /// - Throws: `MigrationError` when the name has no number.
    package init(name: String, text: String, downText: String? = nil) throws(MigrationError) {
        guard let version = MigrationVersion(fileName: name) else {
            throw MigrationError(
                "\(name) has no number: name it like 0007_add_column.sql, V7__add_column.sql or "
                    + "20261101120000_add_column.sql"
            )
        }
        self.name = name
        self.version = version
        self.text = text
        self.downText = downText
    }
}

/// Why a file or a directory of migrations cannot be run, with what to do about it.
package struct MigrationError: Error, Equatable, CustomStringConvertible {
    /// What is wrong.
    package let message: String
    /// Where, such as `0007_x.sql line 3`; nil where no line is to blame.
    package let position: String?

    init(_ message: String) {
        self.message = message
        position = nil
    }

    init(_ message: String, file: String, line: Int) {
        position = "\(file) line \(line)"
        self.message = "\(file) line \(line): \(message)"
    }

    package var description: String { message }
}
