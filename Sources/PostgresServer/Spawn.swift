internal import FoundationEssentials
internal import Glibc

/// A child that is started with nothing but what it is given.
///
/// Not Foundation's `Process`, which would bring all of Foundation into the program.
enum Spawn {
    /// Starts a program in a process group of its own, so that a terminal's Ctrl-C does not reach it.
    ///
    /// - Parameters:
    ///   - command: The program's path, and its arguments.
    ///   - environment: All of its environment.
    ///   - input: What it has as standard input; nil: nothing.
    ///   - output: What it has as standard output.
    /// - Returns: Its process id.
    /// - Throws: A ``PostgresServerError`` if it cannot be started.
    static func start(
        _ command: [String],
        environment: [String: String],
        input: Int32?,
        output: Int32
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        // Whatever else the owner has open is not the child's, which may outlive it.
        for descriptor in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            guard let number = Int32(descriptor), number > 2 else { continue }
            posix_spawn_file_actions_addclose(&actions, number)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        resetSignals(&attributes)

        let words = command.map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for copy in words + variables { free(copy) } }
        var pid: pid_t = 0
        let failure = posix_spawn(&pid, command[0], &actions, &attributes, words, variables)
        guard failure == 0 else {
            throw PostgresServerError(
                "cannot run \(command[0]): \(String(cString: strerror(failure)))"
            )
        }
        return pid
    }

    /// Runs a program to its end, and returns what it wrote to standard output.
    static func output(of command: [String], environment: [String: String]) throws -> String {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw PostgresServerError("no pipe: \(String(cString: strerror(errno)))")
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        let pid: pid_t
        do {
            defer { close(ends[1]) }
            pid = try start(command, environment: environment, input: nil, output: ends[1])
        }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(ends[0], &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        wait(for: pid)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Waits for the end of a child.
    static func wait(for pid: pid_t) {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    }

    /// What the owner blocks or ignores is not the server's business either.
    private static func resetSignals(_ attributes: inout posix_spawnattr_t) {
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP
        posix_spawnattr_setflags(&attributes, Int16(flags))
    }
}
