internal import Glibc

/// What tells a file from another, and from itself after a change.
struct FileIdentity: Sendable, Equatable {
    let inode: UInt64
    let size: Int64
    /// Nanoseconds since 1970.
    let modified: Int64
    /// Nanoseconds since 1970; it moves with every write, whatever is done to the other time.
    let changed: Int64

    init(inode: UInt64, size: Int64, modified: Int64, changed: Int64) {
        self.inode = inode
        self.size = size
        self.modified = modified
        self.changed = changed
    }

    init(_ status: stat) {
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        modified = Self.nanoseconds(status.st_mtim)
        changed = Self.nanoseconds(status.st_ctim)
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        // Anyone can give a file a time that does not fit; wrapped, it still compares equal.
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

extension FileIdentity: Codable {
    private enum CodingKeys: String, CodingKey {
        case inode, size, modified, changed
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        inode = try values.decodeNumber(forKey: .inode)
        size = try values.decodeNumber(forKey: .size)
        modified = try values.decodeNumber(forKey: .modified)
        changed = try values.decodeNumber(forKey: .changed)
    }

    func encode(to encoder: any Encoder) throws {
        // As text: readers of JSON that hold numbers as doubles would round nanoseconds.
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(String(inode), forKey: .inode)
        try values.encode(String(size), forKey: .size)
        try values.encode(String(modified), forKey: .modified)
        try values.encode(String(changed), forKey: .changed)
    }
}

extension KeyedDecodingContainer {
    fileprivate func decodeNumber<Number: FixedWidthInteger>(forKey key: Key) throws -> Number {
        let text = try decode(String.self, forKey: key)
        guard let number = Number(text) else {
            throw DecodingError.dataCorruptedError(
                forKey: key,
                in: self,
                debugDescription: "not a whole number that fits: \(Quoted(text))"
            )
        }
        return number
    }
}
