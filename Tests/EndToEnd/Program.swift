import BulkheadTesting
import Foundation

/// The built program, run as a user runs it.
struct Program {
    let database: TestDatabase
    var directory = FileManager.default.temporaryDirectory
    var environment: [String: String] = [:]

    /// What a run of the program left.
    struct Result {
        let status: Int32
        let output: String
        let errors: String
    }

    /// Runs the program to its end.
    func run(_ arguments: String...) async throws -> Result {
        try await run(arguments)
    }

    func run(_ arguments: [String]) async throws -> Result {
        let process = try start(arguments)
        let status = await process.end()
        return Result(status: status, output: try process.output(), errors: try process.errors())
    }

    /// Starts the program.
    func start(_ arguments: String...) throws -> Running {
        try start(arguments)
    }

    func start(_ arguments: [String]) throws -> Running {
        try start(arguments, of: Self.executable)
    }

    func start(_ arguments: [String], of executable: URL) throws -> Running {
        var environment = ProcessInfo.processInfo.environment
        environment["BULKHEAD_DATABASE_URL"] = database.url
        environment["BULKHEAD"] = Self.executable.path()
        environment.merge(self.environment) { _, new in new }
        return try Running(
            executable,
            arguments,
            environment: environment,
            directory: directory
        )
    }

    /// Runs a script of the shell, in which `$BULKHEAD` is the program.
    func shell(_ script: String) async throws -> Result {
        let process = try startShell(script)
        let status = await process.end()
        return Result(status: status, output: try process.output(), errors: try process.errors())
    }

    func startShell(_ script: String) throws -> Running {
        try start(["-c", script], of: URL(filePath: "/bin/bash"))
    }

    /// The program lies beside the tests.
    static let executable = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appending(path: "bulkhead")
}

/// The program could not even be started.
struct NotStarted: Error {
    let what: String
}

/// A process of the program.
///
/// Not Foundation's `Process`: its children inherit each other's life lines, so that the end of one is
/// noticed only after the end of the next.
final class Running: Sendable {
    let pid: Int32
    private let files: URL
    private let ended: Task<Int32, Never>

    fileprivate init(
        _ executable: URL,
        _ arguments: [String],
        environment: [String: String],
        directory: URL
    ) throws {
        files = FileManager.default.temporaryDirectory.appending(
            path: "bulkhead-run-\(UUID().uuidString)"
        )
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        let create = O_WRONLY | O_CREAT | O_TRUNC
        posix_spawn_file_actions_addopen(
            &actions,
            1,
            files.appending(path: "out").path(),
            create,
            0o600
        )
        posix_spawn_file_actions_addopen(
            &actions,
            2,
            files.appending(path: "err").path(),
            create,
            0o600
        )
        // env becomes the program, in the directory; whoever starts the tests may ignore signals.
        let words =
            (["env", "--default-signal", "--chdir=\(directory.path())", executable.path()]
            + arguments).map {
                strdup($0)
            } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for copy in words + variables { free(copy) } }
        var pid: pid_t = 0
        let status = posix_spawn(&pid, "/usr/bin/env", &actions, nil, words, variables)
        guard status == 0 else {
            throw NotStarted(what: "start of \(executable.path()): error \(status)")
        }
        self.pid = pid
        ended = Task { [pid] in await Self.reap(pid) }
    }

    deinit {
        kill(pid, SIGKILL)
        do {
            try FileManager.default.removeItem(at: files)
        } catch {
            print("could not remove \(files.path()): \(error)")
        }
    }

    func send(_ signal: Int32) {
        kill(pid, signal)
    }

    /// Waits for the end; the exit status, or minus the signal's number.
    func end() async -> Int32 {
        await ended.value
    }

    func output() throws -> String {
        try String(contentsOf: files.appending(path: "out"), encoding: .utf8)
    }

    func errors() throws -> String {
        try String(contentsOf: files.appending(path: "err"), encoding: .utf8)
    }

    private static func reap(_ pid: pid_t) async -> Int32 {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var status: Int32 = 0
                while waitpid(pid, &status, 0) < 0, errno == EINTR {}
                let signal = status & 0x7F
                continuation.resume(returning: signal == 0 ? (status >> 8) & 0xFF : -signal)
            }
        }
    }
}
