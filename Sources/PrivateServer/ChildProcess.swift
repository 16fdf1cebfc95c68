internal import Foundation

/// A command in this process's own group, so that it keeps the terminal.
///
/// Foundation's `Process` moves its children to a group in the background, where reading from the
/// terminal stops them.
struct ChildProcess: Sendable {
    let id: pid_t

    /// Starts the command.
    ///
    /// - Parameters:
    ///   - command: A program, looked up on the `PATH`, and its arguments.
    ///   - environment: All of its environment.
    /// - Throws: What hinders it from starting.
    init(_ command: [String], environment: [String: String]) throws {
        let arguments = Self.copies(of: command)
        let variables = Self.copies(of: environment.map { "\($0.key)=\($0.value)" })
        defer { (arguments + variables).forEach { free($0) } }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // What this process does with signals is not the command's business.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var id: pid_t = 0
        let failure = posix_spawnp(&id, command[0], nil, &attributes, arguments, variables)
        guard failure == 0 else {
            throw CannotRun(command: command[0], reason: String(cString: strerror(failure)))
        }
        self.id = id
    }

    /// Waits for the command's end; 128 and the number for one that a signal ended, as shells say.
    func exitStatus() async -> Int32 {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                var status: Int32 = 0
                while waitpid(id, &status, 0) == -1, errno == EINTR {}
                let signal = status & 0x7f
                continuation.resume(returning: signal == 0 ? (status >> 8) & 0xff : 128 + signal)
            }
        }
    }

    private static func copies(of strings: [String]) -> [UnsafeMutablePointer<CChar>?] {
        strings.map { strdup($0) } + [nil]
    }

    private struct CannotRun: Error, CustomStringConvertible {
        let command: String
        let reason: String

        var description: String { "cannot run \(command): \(reason)" }
    }
}
