internal import Foundation
internal import Postgres
internal import PostgresServer

/// A PgBouncer in front of a test's database, where the Debian package is installed.
package final class TestPooler: Sendable {
    /// Whether the tests that need one can run.
    package static let isInstalled = FileManager.default.isExecutableFile(atPath: program)

    private static let program = "/usr/sbin/pgbouncer"

    private let directory: String
    private let process: Process

    /// Starts one with a single server process for each user, so that who shares one is seen at once.
    ///
    /// - Parameters:
    ///   - database: Where it leads.
    ///   - mode: `transaction` or `session`.
    ///   - size: How many server processes it may open.
    /// - Throws: When it does not start.
    package init(to database: TestDatabase, mode: String, size: Int) async throws {
        guard
            let host = URLComponents(string: database.url)?.queryItems?
                .first(where: { $0.name == "host" })?.value
        else { throw TimedOut(what: "the server has no local socket") }
        let directory = "/tmp/bhb" + UUID().uuidString.prefix(8)
        self.directory = directory
        let files = FileManager.default
        try files.createDirectory(atPath: directory, withIntermediateDirectories: false)
        try files.setAttributes([.posixPermissions: 0o777], ofItemAtPath: directory)
        try """
        [databases]
        * = host=\(host) port=5432 user=postgres
        [pgbouncer]
        listen_port = 6432
        listen_addr =
        unix_socket_dir = \(directory)
        auth_type = any
        pool_mode = \(mode)
        default_pool_size = \(size)
        ignore_startup_parameters = extra_float_digits
        """.write(toFile: "\(directory)/ini", atomically: false, encoding: .utf8)
        process = Process()
        // It refuses root, and only the server's own user may enter the folder of its socket.
        process.executableURL = URL(
            fileURLWithPath: geteuid() == 0 ? "/usr/bin/setpriv" : Self.program
        )
        let asServer = ["--reuid=postgres", "--clear-groups", "--", Self.program]
        process.arguments = (geteuid() == 0 ? asServer : []) + ["-q", "\(directory)/ini"]
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        let deadline = ContinuousClock.now + .seconds(20)
        // The socket's file is there before anyone listens on it.
        while try !isListening(try DatabaseAddress(url(database))) {
            guard .now < deadline, process.isRunning else {
                throw TimedOut(what: "pgbouncer does not start")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func isListening(_ address: DatabaseAddress) throws -> Bool {
        do {
            let settings = SessionSettings(applicationName: "bulkhead test", isLocal: true)
            _ = try Connection(address, settings: settings)
            return true
        } catch  where error.kind == .unavailable {
            return false
        }
    }

    /// The address of a database by way of the pooler.
    package func url(_ database: TestDatabase) -> String {
        "postgresql://postgres@/\(database.name)?host=\(directory)&port=6432"
    }

    /// Ends it.
    package func close() {
        // It keeps nothing, and Foundation takes the ended process away by itself.
        kill(process.processIdentifier, SIGKILL)
        for file in ["ini", ".s.PGSQL.6432", ".s.PGSQL.6432.lock"] {
            unlink("\(directory)/\(file)")
        }
        rmdir(directory)
    }
}
