internal import Glibc

extension ReadError {
    static func badName(_ name: String, because reason: String) -> ReadError {
        ReadError(.badName, "\(Quoted(name)) is not the name of a file: \(reason)")
    }

    static func unlocated(_ root: String) -> ReadError {
        ReadError(
            .badRoot,
            "the import root \(Quoted(root)) cannot be located: see to it that /proc is mounted"
        )
    }

    static func notMade(_ name: String, _ error: SystemError) -> ReadError {
        ReadError(
            error.number == EEXIST ? .taken : .unreadable,
            "\(Quoted(name)) cannot be made: \(error): let the daemon's user write there, and name a new file"
        )
    }

    /// The same words whatever lies out there, so that nobody can ask what exists.
    static func outside(_ name: String, root: String) -> ReadError {
        ReadError(
            .outsideRoot,
            "\(Quoted(name)) does not lie inside the import root \(Quoted(root)): "
                + "put the file there and name it from there"
        )
    }

    /// A file inside the root that the system would not open.
    static func closed(_ name: String, root: String, _ error: SystemError) -> ReadError {
        guard [ENOENT, ENOTDIR, ENAMETOOLONG].contains(error.number) else {
            return unreadable(name, error)
        }
        return ReadError(
            .missing,
            "\(Quoted(name)): no such file inside the import root \(Quoted(root)): check the name"
        )
    }

    static func notRegular(_ name: String, mode: mode_t) -> ReadError {
        let kind =
            switch mode & S_IFMT {
            case S_IFDIR: "a directory"
            case S_IFIFO: "a FIFO"
            case S_IFCHR, S_IFBLK: "a device"
            case S_IFSOCK: "a socket"
            default: "something else"
            }
        return ReadError(
            .notRegularFile,
            "\(Quoted(name)) is \(kind), not a regular file: only regular files can be imported"
        )
    }

    static func unreadable(_ name: String, _ error: SystemError) -> ReadError {
        ReadError(
            .unreadable,
            "\(Quoted(name)) cannot be read: \(error): let the daemon's user read it, then retry"
        )
    }

    static func changed(_ name: String) -> ReadError {
        ReadError(
            .changed,
            "\(Quoted(name)) has changed since it was opened: "
                + "import it again from the start when nobody writes to it any more"
        )
    }

    static func gzip(_ code: Code, _ name: String) -> ReadError {
        let words: (failure: String, advice: String) =
            switch code {
            case .emptyGzip:
                ("is empty, not even a gzip file", "copy it again")
            case .notGzip:
                ("is not a gzip file", "give it a name without .gz if it is not compressed")
            case .truncatedGzip:
                ("ends early: the compressed data are cut short", "copy it again, whole")
            case .checksum:
                ("does not match its own checksum: the data are damaged", "copy it again")
            case .trailingData:
                ("goes on after the compressed data with something else", "compress it again")
            default:
                ("cannot be unpacked: the compressed data are damaged", "copy it again")
            }
        return ReadError(code, "\(Quoted(name)) \(words.failure): \(words.advice)")
    }
}
