internal import FoundationEssentials
internal import Postgres
internal import PostgresServer

/// A database with the schema of another one and none of its rows, for as long as someone tries something in it.
struct ScratchDatabase {
    let address: DatabaseAddress
    /// What could not be copied, in the server's words.
    let notes: [String]
    private let name: String

    /// Makes it beside the database on the same server.
    ///
    /// - Throws: When none can be made, or pg_dump cannot copy the schema.
    init(of live: DatabaseAddress, _ connection: Connection) throws {
        name = "bulkhead_try_" + UUID().uuidString.lowercased().filter { $0 != "-" }.prefix(16)
        address = try live.naming(database: name)
        do throws(PostgresError) {
            try connection.query("create database \(identifier: name) template template0")
        } catch {
            throw NoScratchDatabase(reason: error.message)
        }
        do {
            notes = try SchemaCopy.run(environment: live.environment, into: name)
        } catch {
            try Self.drop(name, connection)
            throw error
        }
    }

    /// Removes it.
    func drop(_ connection: Connection) throws {
        try Self.drop(name, connection)
    }

    private static func drop(_ name: String, _ connection: Connection) throws {
        try connection.query("drop database if exists \(identifier: name) with (force)")
    }
}

/// The role may not make a database.
private struct NoScratchDatabase: Error, CustomStringConvertible {
    let reason: String

    var description: String {
        "a dry run tries the steps in a database of its own, and none can be made (\(reason)): "
            + "alter role ... createdb, or run it against a copy of the server"
    }
}
