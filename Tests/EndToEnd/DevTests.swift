import BulkheadTesting
import Foundation
import Postgres
import PostgresServer
import Testing

/// `bulkhead dev` as a process, in a folder of its own.
@Suite(.timeLimit(.minutes(15))) struct DevTests {
    private func withFolder(_ body: (Program) async throws -> Void) async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let folder = FileManager.default.temporaryDirectory.appending(
                path: "bulkhead-dev-\(UUID().uuidString)"
            )
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try await body(Program(database: database, directory: folder))
            let link = folder.appending(path: ".bulkhead").resolvingSymlinksInPath()
            if link.path().hasPrefix("/var/lib/bulkhead-dev/") {
                try FileManager.default.removeItem(at: link)
            }
            try FileManager.default.removeItem(at: folder)
        }
    }

    /// The address that it prints once its database can be used.
    private func url(of dev: Running) async throws -> String {
        try await dev.waitForErrors { $0.contains("info ready") }
        return try #require(dev.output().split(separator: "\n").first.map(String.init))
    }

    /// Waits until no process of the server is left: its socket goes last.
    private func waitForEnd(of url: String) async throws {
        let folder = try #require(url.split(separator: "host=").last?.split(separator: "&").first)
        let deadline = ContinuousClock.now + .seconds(60)
        while FileManager.default.fileExists(atPath: String(folder)) {
            guard .now < deadline else { throw TimedOut(what: "the end of the server") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func isReached(_ url: String) -> Bool {
        do {
            let settings = SessionSettings(applicationName: "test")
            _ = try Connection(DatabaseAddress(url), settings: settings)
            return true
        } catch {
            return false
        }
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP, SIGKILL])
    func nothingOutlivesItAndTheDataAreKept(_ signal: Int32) async throws {
        try await withFolder { program in
            let first = try program.start("dev")
            let url = try await url(of: first)
            try "id\n1\n2\n".write(
                to: program.directory.appending(path: "f.csv"),
                atomically: true,
                encoding: .utf8
            )
            let session = try await TestSession.open(DatabaseAddress(url))
            try await session.run("create table t (id int primary key)")
            var user = program
            user.environment["BULKHEAD_DATABASE_URL"] = url
            let loaded = try await user.run("import", "t", "f.csv", "--wait")
            #expect(loaded.status == 0, "\(loaded.errors)")
            await session.close()
            first.send(signal)
            #expect(await first.end() == (signal == SIGKILL ? -SIGKILL : 0))
            if signal == SIGKILL { try await waitForEnd(of: url) }
            #expect(!isReached(url))
            let again = try program.start("dev", "--workers", "1")
            #expect(try await self.url(of: again) == url)
            let kept = try await TestSession.open(DatabaseAddress(url))
            #expect(try await kept.value("select count(*) from t") == "2")
            await kept.close()
            again.send(SIGTERM)
            #expect(await again.end() == 0)
            #expect(!isReached(url))
        }
    }

    @Test func aSecondOneInTheSameDirectoryIsToldAndHarmsNobody() async throws {
        try await withFolder { program in
            let first = try program.start("dev")
            let url = try await url(of: first)
            let second = try await program.run("dev")
            #expect(second.status == 1)
            #expect(second.output == "")
            #expect(second.errors.contains("already; its database is"), "\(second.errors)")
            #expect(second.errors.contains(url))
            #expect(second.errors.split(separator: "\n").count == 1)
            #expect(isReached(url))
            first.send(SIGTERM)
            #expect(await first.end() == 0)
        }
    }

    @Test func aWrongOptionStartsNoServer() async throws {
        try await withFolder { program in
            for (words, says) in [
                (["--workers", "0"], "--workers"), (["here"], "dev takes no here"),
                (["--database", "x"], "database of its own"),
                (["--drain"], "unknown option --drain"),
            ] {
                let result = try await program.run(["dev"] + words)
                #expect(result.status == 2)
                #expect(result.errors.contains(says), "\(result.errors)")
            }
            let left = try FileManager.default.contentsOfDirectory(
                atPath: program.directory.path()
            )
            #expect(left.isEmpty)
        }
    }
}
