internal import Glibc

/// A regular file, open for reading, and what it was when it was opened.
final class OpenFile: Sendable {
    /// The name that was asked for, for messages.
    let name: String
    let identity: FileIdentity

    private let descriptor: Descriptor

    /// Opens the very file that is held, whatever its name leads to by now.
    init(name: String, _ held: borrowing Descriptor) throws(ReadError) {
        // Before it is opened: a FIFO would wait for a writer, and a device could do anything.
        let mode = try Self.status(of: held, name: name).st_mode
        guard mode & S_IFMT == S_IFREG else {
            throw ReadError.notRegular(name, mode: mode)
        }
        do {
            descriptor = try Descriptor(opening: held.reopeningPath, O_RDONLY | O_NOCTTY)
        } catch {
            throw ReadError.unreadable(name, error)
        }
        self.name = name
        identity = FileIdentity(try Self.status(of: descriptor, name: name))
    }

    /// Stored bytes, as of the opening.
    var size: Int64 { identity.size }

    /// What the file is now, by a fresh look.
    func currentIdentity() throws(ReadError) -> FileIdentity {
        FileIdentity(try Self.status(of: descriptor, name: name))
    }

    /// Refuses a file that was written to since it was opened.
    func checkUnchanged() throws(ReadError) {
        guard try currentIdentity() == identity else {
            throw ReadError.changed(name)
        }
    }

    /// Reads stored bytes; 0 at the end, which is where the file ended when it was opened.
    func read(
        into buffer: UnsafeMutableRawBufferPointer,
        at offset: Int64
    ) throws(ReadError) -> Int {
        let count = min(Int64(buffer.count), size - offset)
        guard count > 0 else { return 0 }
        do {
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(count)])
            return try descriptor.read(into: part, at: offset)
        } catch {
            throw ReadError.unreadable(name, error)
        }
    }

    private static func status(
        of descriptor: borrowing Descriptor,
        name: String
    ) throws(ReadError) -> stat {
        do {
            return try descriptor.status()
        } catch {
            throw ReadError.unreadable(name, error)
        }
    }
}
