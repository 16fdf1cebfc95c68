import Foundation
import PostgresServer

/// Runs a command beside a private PostgreSQL server: `private-server COMMAND [ARGUMENT...]`.
///
/// The command finds the server by `BULKHEAD_DATABASE_URL`, `DATABASE_URL` and the `PG` variables.
/// Server and data are gone when the command has ended; its exit status is passed on.
@main
struct PrivateServer {
    static func main() async {
        var command = Array(CommandLine.arguments.dropFirst())
        if command.first == "--" {
            command.removeFirst()
        }
        guard !command.isEmpty else {
            complain("usage: private-server COMMAND [ARGUMENT...]")
            exit(2)
        }
        do {
            exit(try await run(command))
        } catch {
            complain("private-server: \(error)")
            exit(3)
        }
    }

    private static func run(_ command: [String]) async throws -> Int32 {
        let server = try await PostgresServer.start()
        var environment = ProcessInfo.processInfo.environment
        environment["BULKHEAD_DATABASE_URL"] = server.url()
        environment["DATABASE_URL"] = server.url()
        environment.merge(server.environment()) { _, ours in ours }
        let result: Result<Int32, any Error>
        do {
            // Before the command: until now a signal may end this process, later it may not.
            let signals = SignalRelay()
            let child = try ChildProcess(command, environment: environment)
            async let _: Void = signals.forward(to: child)
            result = .success(await child.exitStatus())
        } catch {
            result = .failure(error)
        }
        await server.close()
        return try result.get()
    }

    private static func complain(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }
}
