internal import Foundation
internal import PostgresServer
internal import Signals

/// Runs a command beside a private PostgreSQL server: `private-server COMMAND [ARGUMENT...]`.
///
/// The command finds the server by `BULKHEAD_DATABASE_URL`, `DATABASE_URL` and the `PG` variables,
/// and on its `PATH` the server's own programs and `bulkhead`.
/// Server and data are gone when the command has ended; its exit status is passed on.
@main
struct PrivateServer {
    static func main() async {
        SignalWatch.unblock()
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
        let environment = environment(for: server)
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

    private static func environment(for server: PostgresServer) -> [String: String] {
        var all = ProcessInfo.processInfo.environment
        all.merge(server.environment()) { _, ours in ours }
        all["BULKHEAD_DATABASE_URL"] = server.url()
        all["DATABASE_URL"] = server.url()
        // The server's own psql, and the bulkhead that was built with this program.
        let folders = [server.binDirectory, Bundle.main.bundlePath, all["PATH"]].compactMap(\.self)
        all["PATH"] = folders.joined(separator: ":")
        return all
    }

    private static func complain(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }
}
