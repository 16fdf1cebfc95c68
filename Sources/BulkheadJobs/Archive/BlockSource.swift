internal import Bulkhead
internal import CZlib

/// Reads one block of an archive file.
struct BlockSource {
    private static let chunk = 128 << 10

    private let file: OpenFile
    private let range: Range<Int64>

    /// - Throws: `JobFailure` when the file ends before the block does.
    init(_ file: OpenFile, offset: Int64, bytes: Int64) throws {
        guard offset >= 0, bytes > 0, offset <= file.size - bytes else {
            throw JobFailure(
                "\(Quoted(file.name)) was cut: it ends before the block at byte \(offset) does; "
                    + "bring back a copy of the file, then retry"
            )
        }
        self.file = file
        range = offset..<(offset + bytes)
    }

    /// The CRC-32 of the packed bytes.
    func checksum() throws -> Int64 {
        var sum: UInt = 0
        try packed { part in
            sum = crc32(sum, part.bindMemory(to: UInt8.self).baseAddress, UInt32(part.count))
        }
        return Int64(sum)
    }

    /// Lends the unpacked bytes, part by part.
    func unpacked(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        let inflater = try Inflater()
        try packed { try inflater.add($0, body) }
    }

    private func packed(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.chunk, alignment: 16)
        defer { buffer.deallocate() }
        var place = range.lowerBound
        while place < range.upperBound {
            let wanted = Int(min(Int64(buffer.count), range.upperBound - place))
            let count = try file.read(
                into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]),
                at: place
            )
            guard count > 0 else { throw ReadError.changed(file.name) }
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            place += Int64(count)
        }
    }
}

/// Unpacks one gzip member.
private final class Inflater {
    private static let chunk = 128 << 10
    private static let gzipWindow: Int32 = 15 + 16

    /// zlib keeps a pointer to the stream, so the stream must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    private let output: UnsafeMutableRawBufferPointer

    init() throws {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        output = .allocate(byteCount: Self.chunk, alignment: 16)
        guard bulkhead_inflate_init(stream, Self.gzipWindow) == Z_OK else {
            throw JobFailure(
                "the archive cannot be unpacked: no memory for it: free some, then retry"
            )
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
        output.deallocate()
    }

    func add(
        _ bytes: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: bytes.bindMemory(to: UInt8.self).baseAddress
        )
        stream.pointee.avail_in = UInt32(bytes.count)
        repeat {
            stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_out = UInt32(output.count)
            let answer = inflate(stream, Z_NO_FLUSH)
            guard [Z_OK, Z_STREAM_END, Z_BUF_ERROR].contains(answer) else {
                throw JobFailure("a block of the archive cannot be unpacked: it is damaged")
            }
            let count = output.count - Int(stream.pointee.avail_out)
            if count > 0 { try body(UnsafeRawBufferPointer(rebasing: output[..<count])) }
            if answer == Z_STREAM_END { return }
        } while stream.pointee.avail_out == 0 || stream.pointee.avail_in > 0
    }
}
