import Foundation
import PostgresServer
import Testing

/// What a server does when the process that owns it ends, tried with `private-server`.
@Suite(.timeLimit(.minutes(15)))
struct OwnerTests {
    // Says where the server is, gives away its standard error and waits to be told to end.
    private let waiting =
        "echo $PGHOST; head -n 1 $PGHOST/data/postmaster.pid; exec 2>/dev/null; read -r line; exit 7"

    @Test func `passes on the status of its command and leaves nothing`() async throws {
        let owner = try Program.privateServer("sh", "-c", waiting)
        let (folder, postmaster) = try await place(of: owner)
        try owner.endInput()
        #expect(try await owner.exitStatus() == 7)
        #expect(!FileManager.default.fileExists(atPath: folder))
        #expect(!PostgresServer.isAlive(postmaster))
    }

    @Test func `leaves nothing when it dies by kill -9`() async throws {
        let owner = try Program.privateServer("sh", "-c", waiting)
        let (folder, postmaster) = try await place(of: owner)
        #expect(Foundation.kill(owner.id, SIGKILL) == 0)
        // The shell that clears away holds this pipe too: its end is the end of the clearing.
        _ = try await owner.restOfErrors()
        #expect(!FileManager.default.fileExists(atPath: folder))
        #expect(!PostgresServer.isAlive(postmaster))
        try owner.endInput()
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func `hands signals on to its command`(signal: Int32) async throws {
        let script = "trap 'exit 9' INT TERM HUP; echo ready; while :; do read -r line; done"
        let owner = try Program.privateServer("sh", "-c", script)
        #expect(try await owner.line() == "ready")
        #expect(Foundation.kill(owner.id, signal) == 0)
        #expect(try await owner.exitStatus() == 9)
    }

    @Test func `says when its command cannot be run`() async throws {
        let owner = try Program.privateServer("no-such-command")
        #expect(try await owner.restOfErrors().contains("cannot run no-such-command"))
        #expect(try await owner.exitStatus() == 3)
    }

    @Test func `works in a long folder that only its user may enter`() async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        let folder = root.appending(path: "with space \(String(repeating: "l", count: 200))")
        try FileManager.default.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        let owner = try Program.privateServer("psql", "-XAtc", "select 5", directory: folder)
        #expect(try await owner.line() == "5")
        #expect(try await owner.exitStatus() == 0)
        try FileManager.default.removeItem(at: root)
    }

    @Test(.enabled("needs root, and a toolchain that others can read") { try await isForOthers() })
    func `works for an ordinary user as well as for root`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755]
        )
        let program = folder.appending(path: "private-server")
        // The build may lie where only root can read.
        try FileManager.default.copyItem(
            at: Program.built.appending(path: "private-server"),
            to: program
        )
        let command = [program.path(percentEncoded: false), "sh", "-c", "stat -c %u $PGHOST/data"]
        let owner = try Program(Self.ordinary + command)
        #expect(try await owner.restOfOutput() == "1\n")
        #expect(try await owner.exitStatus() == 0)
        try FileManager.default.removeItem(at: folder)
    }

    private static let ordinary = ["setpriv", "--reuid=1", "--regid=1", "--clear-groups"]

    private static func isForOthers() async throws -> Bool {
        guard geteuid() == 0 else { return false }
        let mapped = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
        let line = mapped.split(separator: "\n").first { $0.hasSuffix("/libswiftCore.so") }
        guard let path = line?.drop(while: { $0 != "/" }) else { return true }
        return try await Program(ordinary + ["test", "-r", String(path)]).exitStatus() == 0
    }

    private func place(of owner: Program) async throws -> (folder: String, postmaster: Int32) {
        let folder = try await owner.line()
        let postmaster = try #require(Int32(try await owner.line()))
        #expect(PostgresServer.isAlive(postmaster))
        return (folder, postmaster)
    }
}
