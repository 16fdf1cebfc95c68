internal import Glibc

/// The directory that files may be read from, and the guard at its door.
struct ImportRoot: Sendable {
    private static let longestName = 4096

    private let path: String

    init(_ path: String) {
        self.path = path
    }

    /// Opens a regular file that really lies inside the root, by any name that leads to it.
    func open(_ name: String) throws(ReadError) -> OpenFile {
        try check(name)
        let root = try openRoot()
        guard let rootPlace = root.place else { throw ReadError.unlocated(path) }
        let found = try find(name, from: root, at: rootPlace)
        return try OpenFile(name: name, found)
    }

    /// Makes a new file that really lies inside the root, open for writing.
    func create(_ name: String) throws(ReadError) -> Descriptor {
        try check(name)
        let root = try openRoot()
        guard let rootPlace = root.place else { throw ReadError.unlocated(path) }
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        let folder = parts.dropLast().joined(separator: "/")
        let own = String(parts.last ?? "")
        let directory = try find(folder.isEmpty ? "." : folder, from: root, at: rootPlace)
        return try make(own, in: directory, as: name)
    }

    private func make(
        _ own: String,
        in directory: borrowing Descriptor,
        as name: String
    ) throws(ReadError) -> Descriptor {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
        do throws(SystemError) {
            // Its name must outlive a crash as well.
            let folder = try Descriptor(opening: directory.reopeningPath, O_RDONLY | O_DIRECTORY)
            let made = try Descriptor(opening: own, flags, at: directory.number, mode: 0o644)
            try folder.flush()
            return made
        } catch {
            throw ReadError.notMade(name, error)
        }
    }

    private func check(_ name: String) throws(ReadError) {
        if name.isEmpty {
            throw ReadError.badName(name, because: "it is empty")
        }
        if name.utf8.contains(0) {
            throw ReadError.badName(name, because: "it holds a NUL character")
        }
        if name.utf8.count > Self.longestName {
            throw ReadError.badName(name, because: "it is longer than \(Self.longestName) bytes")
        }
        if name == "." || name == ".." || name.utf8.last == UInt8(ascii: "/") {
            throw ReadError.badName(name, because: "it names a directory")
        }
    }

    private func openRoot() throws(ReadError) -> Descriptor {
        do {
            return try Descriptor(opening: path, Descriptor.holdOnly | O_DIRECTORY)
        } catch {
            throw ReadError(
                .badRoot,
                "the import root \(Quoted(path)) cannot be opened: \(error): "
                    + "start the daemon with an --import-root that is a directory"
            )
        }
    }

    /// Walks to the file one step at a time, opening nothing for reading on the way.
    ///
    /// A name that strays outside so fails in the same way, whatever it would have met there.
    private func find(
        _ name: String,
        from root: borrowing Descriptor,
        at rootPlace: [UInt8]
    ) throws(ReadError) -> Descriptor {
        let (start, steps) = route(to: name)
        var here = try step(start, of: name, from: root, at: rootPlace)
        for component in steps {
            here = try step(component, of: name, from: here, at: rootPlace)
        }
        guard let place = here.place, Self.path(place, isAtOrBelow: rootPlace) else {
            throw ReadError.outside(name, root: path)
        }
        return here
    }

    private func step(
        _ component: String,
        of name: String,
        from directory: borrowing Descriptor,
        at rootPlace: [UInt8]
    ) throws(ReadError) -> Descriptor {
        let next: Descriptor
        do {
            next = try Descriptor(opening: component, Descriptor.holdOnly, at: directory.number)
        } catch {
            throw refusal(of: component, of: name, in: directory, at: rootPlace, because: error)
        }
        // The directories above the root are known to exist: passing through tells nothing.
        guard let place = next.place,
            Self.path(place, isAtOrBelow: rootPlace) || Self.path(rootPlace, isAtOrBelow: place)
        else {
            throw ReadError.outside(name, root: path)
        }
        return next
    }

    /// Says what is wrong only of places inside the root.
    private func refusal(
        of component: String,
        of name: String,
        in directory: borrowing Descriptor,
        at rootPlace: [UInt8],
        because error: SystemError
    ) -> ReadError {
        guard let place = directory.place, Self.path(place, isAtOrBelow: rootPlace) else {
            return ReadError.outside(name, root: path)
        }
        do {
            // A link that leads nowhere: where it points to is nobody's business.
            if try directory.holdsLink(component) {
                return ReadError.outside(name, root: path)
            }
        } catch {
            return ReadError.closed(name, root: path, error)
        }
        return ReadError.closed(name, root: path, error)
    }

    /// Where the walk begins, relative to the root, and its steps from there.
    private func route(to name: String) -> (start: String, steps: [String]) {
        let steps = Self.components(name)
        guard name.utf8.first == UInt8(ascii: "/") else {
            return (".", steps)
        }
        // The root may be named by a path that goes through links outside it.
        let rootSteps = Self.components(path)
        if path.utf8.first == UInt8(ascii: "/"), steps.starts(with: rootSteps, by: Self.sameBytes) {
            return (".", Array(steps.dropFirst(rootSteps.count)))
        }
        return ("/", steps)
    }

    private static func components(_ path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
    }

    /// The file system compares bytes; strings also equal each other when only their letters do.
    private static func sameBytes(_ one: String, _ other: String) -> Bool {
        one.utf8.elementsEqual(other.utf8)
    }

    private static func path(_ path: [UInt8], isAtOrBelow root: [UInt8]) -> Bool {
        let slash = UInt8(ascii: "/")
        return path.starts(with: root)
            && (path.count == root.count || root.last == slash || path[root.count] == slash)
    }
}
