/// The bytes of a file as a reader wants them: unpacked, in order.
protocol ByteSource: AnyObject {
    /// The name of the file, for messages.
    var name: String { get }

    /// How many unpacked bytes lie before the next one.
    var offset: Int64 { get }

    /// The share of the stored bytes that has been read, from 0 to 1.
    var fractionRead: Double { get }

    /// Reads some bytes; 0 means the end, and that every byte before it was found sound.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(ReadError) -> Int

    /// Goes to an unpacked offset.
    func skip(to offset: Int64) throws(ReadError)
}

extension OpenFile {
    /// Reads the file, unpacked when its name ends in `.gz` or when `unpacking` says so.
    func source(unpacking: Bool? = nil) throws(ReadError) -> any ByteSource {
        let endsInGz = name.utf8.suffix(3).elementsEqual(".gz".utf8) { $0 | 0x20 == $1 | 0x20 }
        if unpacking ?? endsInGz {
            return try GzipSource(self)
        }
        return PlainSource(self)
    }
}
