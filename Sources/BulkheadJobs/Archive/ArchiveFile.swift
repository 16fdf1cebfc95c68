internal import Bulkhead
internal import CZlib
internal import Glibc
internal import Postgres

/// A file of this attempt that archived rows are appended to, as gzip members of JSON lines: one for each table or
/// partition that a batch took rows from.
///
/// What it holds beyond the last block that a committed batch recorded is nobody's: the next block
/// takes its place.
final class ArchiveFile {
    let name: String
    private let descriptor: Descriptor
    /// Where the committed blocks end.
    private var end: Int64 = 0
    private var blockStart: Int64 = 0
    private var blockEnd: Int64 = 0
    private var deflater: Deflater?
    private var rows: Int64 = 0
    private var checksum: UInt = 0

    /// Where a block lies, and what its bytes add up to.
    struct Block {
        let offset: Int64
        let bytes: Int64
        let checksum: Int64
        let rows: Int64
    }

    /// Makes the file.
    ///
    /// - Throws: `ReadError` when it cannot be made, or is there already.
    init(_ name: String, in root: ImportRoot) throws(ReadError) {
        self.name = name
        descriptor = try root.create(name)
    }

    /// Begins a batch at the end of the last one that was kept.
    func begin() throws {
        try descriptor.truncate(to: end)
        blockEnd = end
        beginBlock()
    }

    private func beginBlock() {
        blockStart = blockEnd
        deflater = nil
        rows = 0
        checksum = 0
    }

    /// Appends one line.
    func append(_ line: [UInt8]) throws {
        let deflater = try deflater ?? Deflater()
        self.deflater = deflater
        rows += 1
        try deflater.add(line) { try write($0) }
    }

    /// Ends the block and puts it on the disk; the next line begins another one.
    ///
    /// - Returns: The block, or nil when no line came.
    func finish() throws -> Block? {
        guard rows > 0, let deflater else { return nil }
        try deflater.finish { try write($0) }
        try descriptor.flush()
        defer { beginBlock() }
        return Block(
            offset: blockStart,
            bytes: blockEnd - blockStart,
            checksum: Int64(checksum),
            rows: rows
        )
    }

    /// The block's batch is committed.
    func keep() {
        end = blockEnd
    }

    private func write(_ bytes: UnsafeRawBufferPointer) throws {
        checksum = crc32(
            checksum,
            bytes.assumingMemoryBound(to: UInt8.self).baseAddress,
            UInt32(bytes.count)
        )
        try descriptor.write(bytes, at: blockEnd)
        blockEnd += Int64(bytes.count)
    }
}
