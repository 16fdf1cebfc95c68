internal import Glibc

/// An open file descriptor, closed when its owner lets go of it.
struct Descriptor: ~Copyable, Sendable {
    /// Opens nothing, only holds on to the file: no FIFO waits, no device wakes.
    ///
    /// This is O_PATH, which its header hides from Swift.
    static let holdOnly: Int32 = 0o10_000_000

    /// The kernel renders the place of an open file into one page at most.
    private static let longestPath = 8192

    let number: Int32

    /// Opens a path, which is relative to `directory` unless it begins with a slash.
    init(
        opening path: String,
        _ flags: Int32,
        at directory: Int32 = AT_FDCWD,
        mode: mode_t = 0
    ) throws(SystemError) {
        number = try Self.repeated { openat(directory, path, flags | O_CLOEXEC, mode) }
    }

    deinit {
        close(number)
    }

    /// Where the file lies now, by the kernel's own word; nil when it has no such place.
    var place: [UInt8]? {
        let path = [UInt8](unsafeUninitializedCapacity: Self.longestPath) { buffer, count in
            count = buffer.withMemoryRebound(to: CChar.self) { buffer in
                guard let text = buffer.baseAddress else { return 0 }
                return max(0, readlink(reopeningPath, text, buffer.count))
            }
        }
        return path.first == UInt8(ascii: "/") && path.count < Self.longestPath ? path : nil
    }

    /// The path that opens this very file again, wherever its name has gone since.
    var reopeningPath: String { "/proc/self/fd/\(number)" }

    func status() throws(SystemError) -> stat {
        var status = stat()
        _ = try Self.repeated { fstat(number, &status) }
        return status
    }

    /// Whether the directory holds a link of this name, wherever the link leads.
    func holdsLink(_ name: String) throws(SystemError) -> Bool {
        var status = stat()
        _ = try Self.repeated { fstatat(number, name, &status, AT_SYMLINK_NOFOLLOW) }
        return status.st_mode & S_IFMT == S_IFLNK
    }

    /// Reads at a place of the file's own, so that no other reader moves it; 0 at the end.
    func read(
        into buffer: UnsafeMutableRawBufferPointer,
        at offset: Int64
    ) throws(SystemError) -> Int {
        try Self.repeated { pread(number, buffer.baseAddress, buffer.count, off_t(offset)) }
    }

    /// Writes all bytes at a place.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = UnsafeRawBufferPointer(rebasing: rest)
            let place = off_t(offset) + off_t(rest.startIndex)
            let count = try Self.repeated { pwrite(number, part.baseAddress, part.count, place) }
            rest = rest.dropFirst(count)
        }
    }

    /// Cuts the file off.
    func truncate(to size: Int64) throws(SystemError) {
        _ = try Self.repeated { ftruncate(number, off_t(size)) }
    }

    /// Puts everything on the disk.
    func flush() throws(SystemError) {
        _ = try Self.repeated { fsync(number) }
    }

    private static func repeated<Value: SignedInteger>(
        _ call: () -> Value
    ) throws(SystemError) -> Value {
        while true {
            let value = call()
            if value >= 0 {
                return value
            }
            let number = errno
            if number != EINTR {
                throw SystemError(number: number)
            }
        }
    }
}
