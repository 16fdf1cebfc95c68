internal import Postgres
package import PostgresServer

extension TestDatabase {
    /// A database on a server of the test's own, with the service schema installed.
    ///
    /// - Parameters:
    ///   - server: Where it is.
    ///   - name: The database.
    /// - Throws: What the server says.
    package init(on server: PostgresServer, name: String = "postgres") async throws {
        let url = server.url(database: name)
        self.init(name: name, url: url, address: try DatabaseAddress(url))
        let session = try await session()
        try await session.install()
        await session.close()
    }

    /// The same database by another way, through a proxy or as another role for instance.
    ///
    /// - Parameter url: The other address.
    /// - Returns: The database at that address.
    /// - Throws: When the address cannot be read.
    package func at(_ url: String) throws -> TestDatabase {
        TestDatabase(name: name, url: url, address: try DatabaseAddress(url))
    }
}
