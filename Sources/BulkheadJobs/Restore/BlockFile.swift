internal import Bulkhead
internal import Postgres

/// A file that holds blocks of an archive.
struct BlockFile {
    private let file: OpenFile

    /// The temporary table that takes a block; its column `line` holds one JSON object in each row.
    static let stage = "pg_temp.bulkhead_lines"

    init(_ name: String, in root: ImportRoot) throws(ReadError) {
        file = try root.open(name)
    }

    /// Puts the lines of a block into the temporary table, after a look at its checksum.
    func stage(
        offset: Int64,
        bytes: Int64,
        checksum: Int64,
        _ connection: Connection
    ) throws {
        let source = try BlockSource(file, offset: offset, bytes: bytes)
        guard try source.checksum() == checksum else {
            throw JobFailure(
                "\(Quoted(file.name)) was damaged: the block at byte \(offset) is not what the purge wrote; "
                    + "bring back a copy of the file, then retry"
            )
        }
        try connection.run(
            script: """
                drop table if exists \(Self.stage);
                create temporary table bulkhead_lines (line json) on commit drop
                """
        )
        try connection.copyIn(SQL(unsafe: "copy \(Self.stage) from stdin")) { writer in
            try source.unpacked { try writer.write(escaped($0)) }
        }
    }

    /// JSON holds no other sign that COPY would take for its own.
    private func escaped(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count + bytes.count / 16)
        for byte in bytes {
            if byte == UInt8(ascii: "\\") { text.append(byte) }
            text.append(byte)
        }
        return text
    }
}
