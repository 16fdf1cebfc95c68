internal import Bulkhead
internal import FoundationEssentials
internal import Postgres
internal import PostgresServer

/// Runs a PostgreSQL of the directory's own and a daemon on it.
enum DevVerb: Verb {
    static let name = "dev"
    static let summary =
        "Run a private PostgreSQL under .bulkhead/ and a worker on it; data are kept"
    static let synopsis = "[--workers N] [--queue NAME[:N]]... [--import-root DIR] ..."
    static let options: [Option] = WorkerOptions.options
    static let example = "bulkhead dev --workers 4"

    private static let folder = ".bulkhead"

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        guard arguments.operands.isEmpty else {
            throw UsageError("dev takes no \(arguments.operands[0])")
        }
        guard !arguments.has("--database") else {
            throw UsageError("dev has a database of its own; for another one take setup and worker")
        }
        // Before the server is started, so that a slip in an option costs nothing.
        _ = try WorkerOptions(arguments, terminal, address: DatabaseAddress())
        let server = try await start()
        do {
            try await work(on: server, arguments, terminal)
        } catch {
            await server.close()
            throw error
        }
        await server.close()
        return .done
    }

    private static func work(
        on server: PostgresServer,
        _ arguments: Arguments,
        _ terminal: Terminal
    ) async throws {
        let address = try DatabaseAddress(server.url())
        try await install(address)
        try terminal.result(
            terminal.printsJSON ? "{\"url\":\"\(server.url())\"}" : server.url()
        )
        terminal.note("in another terminal: export BULKHEAD_DATABASE_URL='\(server.url())'")
        let options = try WorkerOptions(arguments, terminal, address: address)
        try await options.daemon.runUntilSignalled(endsWithTerminal: true)
    }

    private static func start() async throws -> PostgresServer {
        do {
            return try await PostgresServer.start(.init(storage: .persistent(folder)))
        } catch let error as PostgresServerError
            where error.description.contains("in use by another process")
        {
            let place = FileManager.default.currentDirectoryPath
            throw DevIsRunning(
                description: "`bulkhead dev` runs in \(place) already; its database is "
                    + (try PostgresServer.url(ofPersistent: folder))
            )
        }
    }

    private static func install(_ address: DatabaseAddress) async throws {
        let connection = try Connection(
            address,
            settings: SessionSettings(applicationName: "bulkhead")
        )
        _ = try await Installation(connection).install { await SetupVerb.pause($0) }
    }
}

/// The directory has a server that another process runs.
struct DevIsRunning: Error, CustomStringConvertible {
    let description: String
}
