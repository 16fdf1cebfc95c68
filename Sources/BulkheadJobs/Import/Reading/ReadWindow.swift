/// The stretch of a file that is in memory, from the unfinished record on.
struct ReadWindow {
    private(set) var bytes: [UInt8]
    private(set) var head = 0
    private(set) var tail = 0
    private(set) var isAtEnd = false

    /// The most bytes that are read at once.
    private let chunk: Int
    /// The most bytes it grows to, for the sake of one long record.
    private let limit: Int

    init(_ limits: ReadLimits) {
        chunk = limits.chunk
        limit = limits.record + limits.chunk
        bytes = [UInt8](repeating: 0, count: chunk)
    }

    /// Where the bytes that are not used up lie.
    var unread: Range<Int> { head..<tail }

    /// Reads on; the bytes from `head` to `tail` stay, though they may move.
    mutating func fill(from source: any ByteSource) throws(ReadError) {
        makeRoom()
        let room = tail..<min(bytes.count, tail + chunk)
        let count = try bytes.withUnsafeMutableBufferPointer {
            (bytes) throws(ReadError) -> Int in
            let free = UnsafeMutableBufferPointer(rebasing: bytes[room])
            return try source.read(into: UnsafeMutableRawBufferPointer(free))
        }
        tail += count
        isAtEnd = count == 0
    }

    mutating func advance(_ count: Int) {
        head += count
    }

    /// Takes bytes out of the middle, counted from `head`.
    mutating func drop(_ range: Range<Int>) {
        let moved = head + range.upperBound..<tail
        move(moved, to: head + range.lowerBound)
        tail -= range.count
    }

    private mutating func makeRoom() {
        if head > 0 {
            move(head..<tail, to: 0)
            tail -= head
            head = 0
        }
        if tail == bytes.count {
            let grown = max(tail + 1, min(tail * 2, limit))
            bytes.append(contentsOf: repeatElement(0, count: grown - tail))
        }
    }

    private mutating func move(_ range: Range<Int>, to index: Int) {
        bytes.withUnsafeMutableBytes { bytes in
            let target = UnsafeMutableRawBufferPointer(rebasing: bytes[index...])
            target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[range]))
        }
    }
}
