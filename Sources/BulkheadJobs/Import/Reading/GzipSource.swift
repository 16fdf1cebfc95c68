internal import CZlib

/// Reads a file of one or more gzip members, unpacked.
final class GzipSource: ByteSource {
    private static let chunk = 128 << 10
    /// The largest window, and the format that has a header and a checksum.
    private static let gzipWindow: Int32 = 15 + 16

    private let file: OpenFile
    private(set) var offset: Int64 = 0
    private var storedOffset: Int64 = 0
    private var members = 0
    private var hasEnded = false
    /// zlib keeps a pointer to the stream, so the stream must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    private let input: UnsafeMutableRawBufferPointer

    init(_ file: OpenFile) throws(ReadError) {
        self.file = file
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        input = .allocate(byteCount: Self.chunk, alignment: 16)
        guard bulkhead_inflate_init(stream, Self.gzipWindow) == Z_OK else {
            throw ReadError(
                .unreadable,
                "\(Quoted(file.name)) cannot be unpacked: no memory for it: free some, then retry"
            )
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
        input.deallocate()
    }

    var name: String { file.name }

    var fractionRead: Double {
        let consumed = storedOffset - Int64(stream.pointee.avail_in)
        return file.size > 0 ? min(1, Double(consumed) / Double(file.size)) : 1
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(ReadError) -> Int {
        let room = UInt32(clamping: buffer.count)
        stream.pointee.next_out = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = room
        while stream.pointee.avail_out == room, room > 0, !hasEnded {
            let isEnd = try fillInput()
            try isEnd && stream.pointee.total_in == 0 ? end() : unpack(isEnd: isEnd)
        }
        let count = Int(room - stream.pointee.avail_out)
        offset += Int64(count)
        return count
    }

    func skip(to target: Int64) throws(ReadError) {
        if target < offset {
            rewind()
        }
        let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.chunk, alignment: 16)
        defer { scratch.deallocate() }
        while offset < target {
            let wanted = Int(min(Int64(scratch.count), target - offset))
            if try read(into: UnsafeMutableRawBufferPointer(rebasing: scratch[..<wanted])) == 0 {
                throw ReadError.changed(name)
            }
        }
    }

    private func rewind() {
        inflateReset(stream)
        stream.pointee.avail_in = 0
        offset = 0
        storedOffset = 0
        members = 0
        hasEnded = false
    }

    /// Reads stored bytes when all that were read are used up; true at the end of the file.
    private func fillInput() throws(ReadError) -> Bool {
        guard stream.pointee.avail_in == 0 else { return false }
        let count = try file.read(into: input, at: storedOffset)
        storedOffset += Int64(count)
        stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_in = UInt32(count)
        return count == 0
    }

    private func end() throws(ReadError) {
        guard members > 0 else {
            throw ReadError.gzip(.emptyGzip, name)
        }
        try file.checkUnchanged()
        hasEnded = true
    }

    private func unpack(isEnd: Bool) throws(ReadError) {
        switch inflate(stream, Z_NO_FLUSH) {
        case Z_OK: return
        case Z_STREAM_END:
            members += 1
            // This also sets the bytes counted in the member back to 0.
            inflateReset(stream)
        case Z_BUF_ERROR where isEnd:
            // A file that is still being written looks cut as well.
            try file.checkUnchanged()
            let hasMagic = stream.pointee.total_in >= 2
            throw ReadError.gzip(hasMagic ? .truncatedGzip : codeWithoutMagic, name)
        default:
            throw ReadError.gzip(code(of: stream.pointee.msg), name)
        }
    }

    private var codeWithoutMagic: ReadError.Code {
        members == 0 ? .notGzip : .trailingData
    }

    private func code(of message: UnsafeMutablePointer<CChar>?) -> ReadError.Code {
        // zlib has one number for all of these and tells them apart in words only.
        switch message.map({ String(cString: $0) }) {
        case "incorrect header check": codeWithoutMagic
        case "incorrect data check", "incorrect length check": .checksum
        default: .corruptGzip
        }
    }
}
