internal import FoundationEssentials
internal import Glibc

extension PostgresServer {
    /// The address as a URL, as `BULKHEAD_DATABASE_URL` takes it.
    ///
    /// - Parameter database: The database; `postgres` is there from the start.
    /// - Returns: The URL.
    package func url(database: String = "postgres") -> String {
        Self.url(socketDirectory, database)
    }

    /// The address of the server that keeps its data in a folder, whoever runs it.
    ///
    /// - Parameter path: The folder, as its options name it.
    /// - Returns: The URL.
    /// - Throws: A ``PostgresServerError`` if the path is taken by something else.
    package static func url(ofPersistent path: String) throws -> String {
        let home = try PersistentHome.resolve(path, for: ServerAccount.current())
        return url(home.socketDirectory, "postgres")
    }

    private static func url(_ socketDirectory: String, _ database: String) -> String {
        "postgresql://\(user)@/\(escaped(database))?host=\(socketDirectory)&port=\(port)"
    }

    /// The address in libpq's `keyword=value` form.
    ///
    /// - Parameter database: The database; `postgres` is there from the start.
    /// - Returns: The connection string.
    package func conninfo(database: String = "postgres") -> String {
        "host=\(quoted(socketDirectory)) port=\(Self.port) user=\(Self.user)"
            + " dbname=\(quoted(database))"
    }

    /// The address as the variables that every program of PostgreSQL reads.
    ///
    /// - Parameter database: The database; `postgres` is there from the start.
    /// - Returns: The variables, to be added to a program's environment.
    package func environment(database: String = "postgres") -> [String: String] {
        [
            "PGHOST": socketDirectory, "PGPORT": String(Self.port), "PGUSER": Self.user,
            "PGDATABASE": database,
        ]
    }

    /// The id of the server's first process; nil if the server is stopped.
    ///
    /// - Throws: An error if the server's files cannot be read.
    package func postmasterPID() throws -> Int32? {
        let text: String
        do {
            text = try String(contentsOfFile: "\(dataDirectory)/postmaster.pid", encoding: .utf8)
        } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
            return nil
        }
        return text.split(separator: "\n").first.flatMap { Int32($0) }
    }

    private static func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            let character = Character(UnicodeScalar(byte))
            let plain = character.isASCII && (character.isLetter || character.isNumber)
            return plain || "-._~".contains(character)
                ? String(character) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }

    private func quoted(_ text: String) -> String {
        "'\(text.replacing("\\", with: "\\\\").replacing("'", with: "\\'"))'"
    }
}
