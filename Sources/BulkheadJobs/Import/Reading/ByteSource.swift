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
