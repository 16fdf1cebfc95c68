internal import FoundationEssentials
internal import Glibc

/// A private PostgreSQL server that lives no longer than the process that started it.
///
/// It listens on a socket in a folder that only its user may enter, and on no network address. When
/// the last reference goes, or the process ends in any way, `kill -9` included, the server is
/// stopped and a temporary one's files are deleted.
package final class PostgresServer: Sendable {
    /// The same for all: a server is told apart by the folder of its socket.
    package static let port = 5432

    /// The superuser, who needs no password.
    package static let user = "postgres"

    /// Where `psql`, `pgbench` and the other programs of this server's version are.
    package let binDirectory: String
    /// The cluster.
    package let dataDirectory: String
    /// The folder to name as the host.
    package let socketDirectory: String
    /// What the server, `initdb` and `pg_ctl` print; the last run's is beside it, as `log.old`.
    package let logFile: String
    private let keeper: Keeper

    /// Makes the cluster if need be and starts it.
    ///
    /// - Parameter options: Where it lies and how it is set.
    /// - Returns: The server, ready for connections.
    /// - Throws: A ``PostgresServerError`` with the end of the server's log.
    package static func start(_ options: Options = Options()) async throws -> PostgresServer {
        let server = try await PostgresServer(options)
        do {
            try await server.start()
        } catch {
            await server.close()
            throw error
        }
        return server
    }

    private init(_ options: Options) async throws {
        let environment = ProcessInfo.processInfo.environment
        binDirectory = try Binaries.find(environment: environment).directory
        let account = try ServerAccount.current()
        let home: PersistentHome? =
            switch options.storage {
            case .temporary: nil
            case .persistent(let path): try PersistentHome.resolve(path, for: account)
            }
        keeper = try Keeper(
            arguments: [
                binDirectory, home?.directory ?? "", home?.socketDirectory ?? "",
                options.configuration,
            ],
            account: account,
            environment: environment
        )
        let greeting = try await keeper.ask(nil)
        guard greeting.hasPrefix("ok ") else {
            throw PostgresServerError("no private PostgreSQL server: \(greeting)")
        }
        socketDirectory = String(greeting.dropFirst(3))
        let directory = home?.directory ?? socketDirectory
        dataDirectory = "\(directory)/data"
        logFile = "\(directory)/log"
    }

    /// Starts the server again after a stop or a kill; does nothing if it runs.
    ///
    /// - Throws: A ``PostgresServerError`` with the end of the server's log.
    package func start() async throws {
        try await perform("start")
    }

    /// Stops the server and keeps its data; does nothing if it is stopped.
    ///
    /// - Parameter mode: Whether it ends in order or as in a crash.
    /// - Throws: A ``PostgresServerError`` with the end of the server's log.
    package func stop(_ mode: StopMode = .fast) async throws {
        try await perform("stop \(mode.rawValue)")
    }

    /// Stops the server and starts it again.
    ///
    /// - Parameter mode: Whether it ends in order or as in a crash.
    /// - Throws: A ``PostgresServerError`` with the end of the server's log.
    package func restart(_ mode: StopMode = .fast) async throws {
        try await stop(mode)
        try await start()
    }

    /// Ends every process of the server by `kill -9`, as the kernel or a power cut would.
    ///
    /// - Throws: A ``PostgresServerError`` if one of them is still there after 10 seconds.
    package func kill() async throws {
        try await perform("kill")
    }

    /// Stops the server for good, deletes a temporary one's files and returns when that is done.
    package func close() async {
        await keeper.end()
    }

    private func perform(_ request: String) async throws {
        let answer = try await keeper.ask(request)
        guard answer == "ok" else {
            throw PostgresServerError(
                "PostgreSQL (\(binDirectory)) \(answer): \(ServerLog(path: logFile).tail())"
            )
        }
    }
}
