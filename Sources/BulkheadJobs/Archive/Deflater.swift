internal import Bulkhead
internal import CZlib

/// Packs one gzip member.
final class Deflater {
    private static let chunk = 64 << 10
    /// The largest window, and the format that has a header and a checksum.
    private static let gzipWindow: Int32 = 15 + 16
    /// Fast: the rows wait for it inside a transaction.
    private static let level: Int32 = 1

    /// zlib keeps a pointer to the stream, so the stream must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    private let output: UnsafeMutableRawBufferPointer

    init() throws {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        output = .allocate(byteCount: Self.chunk, alignment: 16)
        guard bulkhead_deflate_init(stream, Self.level, Self.gzipWindow) == Z_OK else {
            throw JobFailure(
                "the archive cannot be packed: no memory for it: free some, then retry"
            )
        }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
        output.deallocate()
    }

    /// Adds bytes; `write` takes what is packed so far.
    func add(_ bytes: [UInt8], _ write: (UnsafeRawBufferPointer) throws -> Void) throws {
        var bytes = bytes
        try bytes.withUnsafeMutableBufferPointer { buffer in
            stream.pointee.next_in = buffer.baseAddress
            stream.pointee.avail_in = UInt32(clamping: buffer.count)
            try run(Z_NO_FLUSH, write)
        }
    }

    /// Ends the member.
    func finish(_ write: (UnsafeRawBufferPointer) throws -> Void) throws {
        stream.pointee.avail_in = 0
        try run(Z_FINISH, write)
    }

    private func run(_ flush: Int32, _ write: (UnsafeRawBufferPointer) throws -> Void) throws {
        repeat {
            stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_out = UInt32(output.count)
            deflate(stream, flush)
            let count = output.count - Int(stream.pointee.avail_out)
            if count > 0 { try write(UnsafeRawBufferPointer(rebasing: output[..<count])) }
        } while stream.pointee.avail_out == 0
    }
}
