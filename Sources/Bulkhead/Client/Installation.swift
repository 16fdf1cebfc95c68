public import Migrations
public import Postgres

/// The service schema in one database: what is there, and what is to be done.
public struct Installation {
    private let connection: Connection

    /// Looks at the database of a connection.
    public init(_ connection: Connection) {
        self.connection = connection
    }

    /// The newest version that is installed; 0 when there is none.
    public func installedVersion() throws -> Int {
        let table = try connection.query(
            "select to_regclass('bulkhead.schema_version') is not null"
        )
        guard try table.required(0, 0) else { return 0 }
        return try connection.query("select coalesce(max(version), 0) from bulkhead.schema_version")
            .required(0, 0)
    }

    /// Makes sure that the schema is the one that this program was built for.
    ///
    /// - Throws: `InstallationError`.
    public func requireCurrent() throws {
        let installed = try installedVersion()
        if installed == 0 { throw InstallationError.missing }
        if installed < Schema.versions.count { throw InstallationError.older(installed) }
        if installed > Schema.versions.count { throw InstallationError.newer(installed) }
    }

    /// Installs the versions that are missing, each in its own transaction; safe when many do it at once.
    ///
    /// - Parameters:
    ///   - patience: How long to try for the locks, which are never waited for longer than a second.
    ///   - pause: Suspends between two tries.
    /// - Returns: The versions that this call installed.
    /// - Throws: `InstallationError` when the database is newer, or what the server said.
    public func install(
        patience: Duration = .seconds(120),
        pause: (Duration) async -> Void
    ) async throws -> [Schema.Version] {
        let deadline = ContinuousClock.now + patience
        var installed: [Schema.Version] = []
        while true {
            do {
                guard let version = try installNext() else { return installed }
                installed.append(version)
            } catch let error as PostgresError
                where (error.kind == .transient || Self.isRace(error)) && .now < deadline
            {
                await pause(.milliseconds(.random(in: 50...250)))
            }
        }
    }

    /// Installs what is missing, where nobody else can be doing it.
    package func installNow() throws {
        while try installNext() != nil {}
    }

    /// Gives a role what a daemon needs.
    public func grant(to role: String) throws {
        try requireCurrent()
        try connection.query("select bulkhead.grant_daemon(\(role))")
    }

    /// Removes the schema with everything in it.
    public func remove() throws {
        try connection.query("drop schema bulkhead cascade")
    }

    /// Installs one version; nil when there is none left.
    private func installNext() throws -> Schema.Version? {
        try connection.transaction { connection in
            try connection.run(
                script: """
                    set local lock_timeout = '1s';
                    select pg_advisory_xact_lock(1112884292, 0)
                    """
            )
            let present = try installedVersion()
            if present > Schema.versions.count { throw InstallationError.newer(present) }
            guard present < Schema.versions.count else { return nil }
            let version = Schema.versions[present]
            try connection.run(script: version.sql)
            try connection.query(
                "insert into bulkhead.schema_version (version, name) values (\(version.number), \(version.name))"
            )
            try connection.run(
                script: "revoke execute on all functions in schema bulkhead from public"
            )
            return version
        }
    }

    /// Two first installations meet at the schema's name before either can see the other's lock table.
    private static func isRace(_ error: PostgresError) -> Bool {
        error.kind == .conflict && error.schema == "pg_catalog"
    }
}

/// Why the service schema cannot be used.
public enum InstallationError: Error, Sendable, Equatable, CustomStringConvertible {
    /// There is none.
    case missing
    /// It has an older version than this program.
    case older(Int)
    /// It has a newer version than this program.
    case newer(Int)

    /// The same in words.
    public var description: String {
        let own = Schema.versions.count
        switch self {
        case .missing:
            return "the database has no bulkhead schema: run `bulkhead setup` first"
        case .older(let version):
            return "the bulkhead schema has version \(version) and this program needs \(own): "
                + "run `bulkhead setup` to upgrade it"
        case .newer(let version):
            return "the bulkhead schema has version \(version) and this program knows only \(own): "
                + "install a newer bulkhead"
        }
    }
}
