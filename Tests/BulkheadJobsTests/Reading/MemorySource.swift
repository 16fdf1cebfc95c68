@testable import BulkheadJobs

/// Bytes of a test, handed out in pieces of chosen sizes.
final class MemorySource: ByteSource {
    let name = "memory.csv"
    private let bytes: [UInt8]
    private let pieces: [Int]
    private var piece = 0
    private(set) var offset: Int64 = 0

    init(_ bytes: [UInt8], pieces: [Int] = [Int.max]) {
        self.bytes = bytes
        self.pieces = pieces
    }

    var fractionRead: Double { bytes.isEmpty ? 1 : Double(offset) / Double(bytes.count) }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(ReadError) -> Int {
        let start = Int(offset)
        let count = min(buffer.count, pieces[piece % pieces.count], bytes.count - start)
        piece += 1
        buffer.copyBytes(from: bytes[start..<start + count])
        offset += Int64(count)
        return count
    }

    func skip(to offset: Int64) throws(ReadError) {
        self.offset = offset
    }
}
