internal import FoundationEssentials
internal import Glibc

/// Where the data of a kept server really lie, and the short folder of its socket.
struct PersistentHome {
    let directory: String
    let socketDirectory: String

    private static let rootsFolder = "/var/lib/bulkhead-dev"

    /// Settles on a folder for what the user calls `path`.
    ///
    /// An ordinary user's data lie at the path itself. Those of a server that root starts belong to
    /// an unprivileged account, which may not enter root's folders: they lie under `/var/lib`, and
    /// the path becomes a link to them.
    ///
    /// - Throws: A ``PostgresServerError`` if the path is taken by something else.
    static func resolve(_ path: String, for account: ServerAccount?) throws -> PersistentHome {
        let absolute = URL(filePath: path).standardizedFileURL
        let parent = absolute.deletingLastPathComponent().resolvingSymlinksInPath()
        let link = parent.appending(path: absolute.lastPathComponent).path(percentEncoded: false)
        let named = link.hasSuffix("/") ? String(link.dropLast()) : link
        let name = hash(of: named)
        guard let account else {
            return PersistentHome(directory: named, socketDirectory: "/tmp/bulkhead-\(name)")
        }
        let target = try existingTarget(of: named) ?? "\(rootsFolder)/\(name)"
        try makeDirectory(target, for: account)
        if try existingTarget(of: named) == nil {
            try FileManager.default.createSymbolicLink(
                atPath: named,
                withDestinationPath: target
            )
        }
        let socket = "/tmp/bulkhead-\(target.dropFirst(rootsFolder.count + 1))"
        return PersistentHome(directory: target, socketDirectory: socket)
    }

    /// Where an earlier link leads, so that a project that was moved keeps its data.
    private static func existingTarget(of link: String) throws -> String? {
        let files = FileManager.default
        // Attributes are those of a link itself, so that one into nothing is seen too.
        guard let kind = try attributes(of: link)?[.type] as? FileAttributeType else { return nil }
        if kind == .typeSymbolicLink {
            let target = try files.destinationOfSymbolicLink(atPath: link)
            // root must not follow a link to just anywhere, since it gives the target away.
            if isOurs(target) {
                return target
            }
        }
        throw PostgresServerError(
            "\(link) is not from a run as root: run as the user that made it, or move it away"
        )
    }

    private static func isOurs(_ target: String) -> Bool {
        let name = target.dropFirst(rootsFolder.count + 1)
        return target == "\(rootsFolder)/\(name)"
            && name.count == 16 && name.allSatisfy(\.isHexDigit)
    }

    private static func attributes(of path: String) throws -> [FileAttributeKey: Any]? {
        do {
            return try FileManager.default.attributesOfItem(atPath: path)
        } catch let error as CocoaError
            where [.fileReadNoSuchFile, .fileNoSuchFile].contains(error.code)
        {
            return nil
        }
    }

    private static func makeDirectory(_ path: String, for account: ServerAccount) throws {
        try FileManager.default.createDirectory(
            atPath: rootsFolder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755]
        )
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw PostgresServerError("cannot make \(path): \(String(cString: strerror(errno)))")
        }
        guard lchown(path, account.user, account.group) == 0 else {
            throw PostgresServerError(
                "cannot give \(path) to \(account.name): \(String(cString: strerror(errno)))"
            )
        }
    }

    /// A name for a path that is the same in every run (FNV-1a, 64 bits).
    private static func hash(of path: String) -> String {
        let value = path.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
