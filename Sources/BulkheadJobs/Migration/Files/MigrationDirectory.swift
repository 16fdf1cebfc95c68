internal import FoundationEssentials

/// The migrations of a directory, or one file.
package struct MigrationDirectory: Sendable {
    /// In the order of their numbers.
    package let files: [MigrationFile]
    /// What was left out, and why, a line each.
    package let notes: [String]
    /// Whether these are all files that there are, so that one that is missing was deleted.
    package let isComplete: Bool

    /// Reads a directory, or one file.
    ///
    /// - Throws: `MigrationError`.
    package init(path: String) throws {
        let manager = FileManager.default
        var isDirectory = false
        guard manager.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw MigrationError("there is no file or directory \(path)")
        }
        guard isDirectory else {
            let name = path.split(separator: "/").last.map(String.init) ?? path
            self = try MigrationDirectory([name], isComplete: false) { _ in path }
            return
        }
        self = try MigrationDirectory(
            try manager.contentsOfDirectory(atPath: path),
            isComplete: true
        ) {
            "\(path)/\($0)"
        }
        guard !files.isEmpty else {
            throw MigrationError(
                "\(path) holds no migration: files are named like 0007_add_column.sql or V7__add_column.sql"
            )
        }
    }

    /// One file that is not on a disk.
    package init(file: MigrationFile) {
        files = [file]
        notes = []
        isComplete = false
    }

    private init(_ names: [String], isComplete: Bool, path: (String) -> String) throws {
        var survey = MigrationNames()
        for name in names.sorted() { try survey.add(name) }
        files = try survey.ordered().map { entry in
            try MigrationFile(
                name: entry.name,
                text: try Self.read(path(entry.name), entry.name),
                downText: try entry.down.map { try Self.read(path($0), $0) }
            )
        }
        notes = survey.notes
        self.isComplete = isComplete
        if !isComplete, let note = notes.first { throw MigrationError(note) }
    }

    private static func read(_ path: String, _ name: String) throws -> String {
        let bytes: Data
        do {
            bytes = try Data(contentsOf: URL(filePath: path))
        } catch {
            throw MigrationError("\(path) cannot be read: is it a file, and may you read it?")
        }
        guard !bytes.contains(0), var text = String(validating: bytes, as: UTF8.self) else {
            throw MigrationError("\(name) is not text in UTF-8: save it as such")
        }
        if text.first == "\u{FEFF}" { text.removeFirst() }
        return text
    }
}
