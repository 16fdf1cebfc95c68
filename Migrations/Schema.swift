/// The service schema's versions, embedded from the numbered SQL files beside this one.
public enum Schema {
    /// All versions in the order in which they are installed.
    public static let versions: [Version] = embeddedSQL.enumerated().map { index, file in
        Version(number: index + 1, name: file.name, sql: file.text)
    }

    /// One numbered SQL file.
    public struct Version: Sendable {
        /// Position among the files, from 1; the number in the file's name.
        public let number: Int
        /// The file's name without its extension.
        public let name: String
        /// The file's text.
        public let sql: String
    }
}
