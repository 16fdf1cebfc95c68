/// Reads a file as it is stored.
final class PlainSource: ByteSource {
    private let file: OpenFile
    private(set) var offset: Int64 = 0

    init(_ file: OpenFile) {
        self.file = file
    }

    var name: String { file.name }

    var fractionRead: Double {
        file.size > 0 ? min(1, Double(offset) / Double(file.size)) : 1
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(ReadError) -> Int {
        let count = try file.read(into: buffer, at: offset)
        if count == 0, !buffer.isEmpty {
            try file.checkUnchanged()
        }
        offset += Int64(count)
        return count
    }

    func skip(to offset: Int64) throws(ReadError) {
        guard offset >= 0, offset <= file.size else {
            throw ReadError.changed(name)
        }
        self.offset = offset
    }
}
