import Foundation
import PostgresServer
import Testing

@Suite(.timeLimit(.minutes(15)))
struct PersistentTests {
    private let files = FileManager.default

    @Test func `keeps its data for the next owner, whatever the path`() async throws {
        let awkward = "a 'quoted' \"$folder\" \(String(repeating: "long", count: 40))"
        try await withFolder(named: awkward) { folder in
            let options = PostgresServer.Options(storage: .persistent("\(folder)/.bulkhead"))
            let first = try await PostgresServer.start(options)
            _ = try await first.answer(to: "create table kept as select 42 as value")
            await first.close()
            #expect(!files.fileExists(atPath: first.socketDirectory))
            let second = try await PostgresServer.start(options)
            #expect(try await second.answer(to: "table kept") == "42")
            #expect(second.url() == first.url())
            await second.close()
            #expect(files.fileExists(atPath: "\(second.dataDirectory)/PG_VERSION"))
        }
    }

    @Test func `refuses a second owner and leaves the first in peace`() async throws {
        try await withFolder(named: "two") { folder in
            let options = PostgresServer.Options(storage: .persistent("\(folder)/.bulkhead"))
            let first = try await PostgresServer.start(options)
            let error = await #expect(throws: PostgresServerError.self) {
                _ = try await PostgresServer.start(options)
            }
            #expect(error?.description.contains("in use by another process") == true)
            #expect(try await first.answer(to: "select 1") == "1")
            await first.close()
        }
    }

    @Test func `makes the cluster again when making it was interrupted`() async throws {
        try await withFolder(named: "half") { folder in
            let options = PostgresServer.Options(storage: .persistent("\(folder)/.bulkhead"))
            let first = try await PostgresServer.start(options)
            try await first.stop()
            try files.moveItem(atPath: first.dataDirectory, toPath: first.dataDirectory + ".new")
            await first.close()
            let second = try await PostgresServer.start(options)
            #expect(try await second.answer(to: "select 1") == "1")
            await second.close()
        }
    }

    @Test func `stops a server that a killed shell left running`() async throws {
        try await withFolder(named: "left") { folder in
            let options = PostgresServer.Options(storage: .persistent("\(folder)/.bulkhead"))
            let first = try await PostgresServer.start(options)
            _ = try await first.answer(to: "create table kept as select 42 as value")
            let left = try #require(try first.postmasterPID())
            let home = String(first.dataDirectory.dropLast("/data".count))
            let shells = try processes(with: ["bulkhead-keeper", home])
            #expect(!shells.isEmpty)
            shells.forEach { kill($0, SIGKILL) }
            await #expect(throws: PostgresServerError.self) { try await first.stop() }
            #expect(PostgresServer.isAlive(left))
            let second = try await PostgresServer.start(options)
            #expect(try await second.answer(to: "table kept") == "42")
            #expect(!PostgresServer.isAlive(left))
            await second.close()
        }
    }

    @Test(.enabled(if: geteuid() == 0))
    func `of root lie where the server's user can enter`() async throws {
        try await withFolder(named: "of root") { folder in
            let link = "\(folder)/.bulkhead"
            let server = try await PostgresServer.start(.init(storage: .persistent(link)))
            #expect(server.dataDirectory.hasPrefix("/var/lib/bulkhead-dev/"))
            let target = try files.destinationOfSymbolicLink(atPath: link)
            #expect(server.dataDirectory == "\(target)/data")
            await server.close()
        }
    }

    @Test(.enabled(if: geteuid() == 0), arguments: ["/etc", "/var/lib/bulkhead-dev/../../../etc"])
    func `of root are not where any link leads`(target: String) async throws {
        try await withFolder(named: "link") { folder in
            let link = "\(folder)/.bulkhead"
            try files.createSymbolicLink(atPath: link, withDestinationPath: target)
            await #expect(throws: PostgresServerError.self) {
                _ = try await PostgresServer.start(.init(storage: .persistent(link)))
            }
        }
    }

    /// The processes that have all these arguments.
    private func processes(with arguments: Set<String>) throws -> [Int32] {
        try files.contentsOfDirectory(atPath: "/proc").compactMap { Int32($0) }.filter { id in
            // A process may end between being listed and being read.
            let line = files.contents(atPath: "/proc/\(id)/cmdline") ?? Data()
            let words = String(decoding: line, as: UTF8.self).split(separator: "\0")
            return arguments.isSubset(of: words.map(String.init))
        }
    }

    /// Lends a folder that only its owner may enter, and deletes it and what its links lead to.
    private func withFolder(
        named name: String,
        _ body: (String) async throws -> Void
    ) async throws {
        let root = files.temporaryDirectory.appending(path: UUID().uuidString)
        let folder = root.appending(path: name)
        try files.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        // What a failure leaves stays, to be looked at.
        try await body(folder.path(percentEncoded: false))
        let link = folder.appending(path: ".bulkhead").resolvingSymlinksInPath()
        if link.path().hasPrefix("/var/lib/bulkhead-dev/") {
            try files.removeItem(at: link)
        }
        try files.removeItem(at: root)
    }
}
