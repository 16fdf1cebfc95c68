internal import FoundationEssentials
internal import Glibc

/// Tells this process from every other one, also from a later one with the same pid.
struct ProcessIdentity: Sendable {
    let pid: Int32
    /// The boot, the pid namespace, and the process's start in clock ticks since the boot.
    let start: String

    static func current() throws -> ProcessIdentity {
        let pid = getpid()
        guard let start = try start(of: pid) else {
            throw JobFailure("/proc does not show this process (pid \(pid)): is it mounted?")
        }
        return ProcessIdentity(pid: pid, start: start)
    }

    /// Whether a process that was described so is known to be gone.
    ///
    /// One of another boot or pid namespace cannot be seen from here: its lease tells.
    static func isGone(pid: Int32, start: String) throws -> Bool {
        guard let place = start.lastIndex(of: "/"), try start[..<place] == self.place() else {
            return false
        }
        // A process of another user may be hidden in /proc.
        guard let present = try self.start(of: pid) else {
            return kill(pid, 0) != 0 && errno == ESRCH
        }
        return present != start
    }

    private static func start(of pid: Int32) throws -> String? {
        // The name in parentheses may hold anything; the start is the 20th field after it.
        let fields =
            try text("/proc/\(pid)/stat")?.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 19 else { return nil }
        return try "\(place())/\(fields[19])"
    }

    private static func place() throws -> String {
        let boot = try text("/proc/sys/kernel/random/boot_id")?.filter { !$0.isNewline } ?? ""
        let namespace = try FileManager.default.destinationOfSymbolicLink(
            atPath: "/proc/self/ns/pid"
        )
        return "\(boot)/\(namespace)"
    }

    /// The text of a file; nil when there is none.
    private static func text(_ path: String) throws -> String? {
        // Files under /proc have no size, which some readers take for empty.
        var bytes: [UInt8] = []
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw JobFailure("\(path) cannot be read: \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            bytes += buffer.prefix(count)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
