internal import Bulkhead
internal import Glibc
internal import Postgres

/// The database that a command is about.
enum Database {
    /// The address from the option or the environment.
    static func address(_ arguments: Arguments) throws -> DatabaseAddress {
        let address = try DatabaseAddress.ofEnvironment(unless: arguments.text("--database"))
        hidePassword(of: address)
        return address
    }

    /// Connects, and runs the closure with the connection.
    ///
    /// - Throws: `NoDatabase` when there is no server to be reached or no schema installed.
    static func use<Result>(
        _ arguments: Arguments,
        _ body: (Connection) async throws -> Result
    ) async throws -> Result {
        let connection = try connect(arguments)
        do {
            return try await body(connection)
        } catch let error as PostgresError {
            if error.kind == .connectionLost { throw NoDatabase("\(error)") }
            if error.isAboutSchema { try Installation(connection).requireCurrent() }
            throw error
        }
    }

    /// Opens a session that leaves nothing behind in a pooler's server process.
    static func connect(_ arguments: Arguments) throws -> Connection {
        let address = try address(arguments)
        do {
            let settings = SessionSettings(
                applicationName: "bulkhead",
                lockTimeout: .seconds(10),
                isLocal: true
            )
            return try Connection(address, settings: settings)
        } catch {
            throw NoDatabase("cannot connect to \(address): \(error)")
        }
    }

    /// Writes over the password in the list of processes.
    private static func hidePassword(of address: DatabaseAddress) {
        guard let password = address.password, !password.isEmpty else { return }
        for index in 1..<Int(CommandLine.argc) {
            guard let argument = CommandLine.unsafeArgv[index] else { continue }
            for written in [password, escapedPassword(in: String(cString: argument))] {
                guard let written, let found = strstr(argument, written) else { continue }
                memset(found, Int32(UInt8(ascii: "*")), written.utf8.count)
            }
        }
    }

    /// The password of a URL as it is written there, with its `%40` and the like.
    private static func escapedPassword(in url: String) -> String? {
        let match =
            url.firstMatch(of: /:\/\/[^:@\/?]*:([^@\/?]+)@/)
            ?? url.firstMatch(of: /[?&]password=([^&]+)/)
        return match.map { String($0.output.1) }
    }
}

/// There is no server to be reached, or no schema installed.
struct NoDatabase: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

extension PostgresError {
    /// Whether a name of the service schema was not there.
    fileprivate var isAboutSchema: Bool {
        [.invalidSchemaName, .undefinedFunction, .undefinedTable].contains(state)
    }
}
