extension OpenFile {
    /// Reads the file as UTF-8, unpacked and converted.
    ///
    /// A name that ends in `.gz` says that the file is packed, unless `unpacking` says whether. A
    /// mark at its start says that it is in UTF-16, unless `encoding` names an encoding.
    func source(
        unpacking: Bool? = nil,
        encoding: TextEncoding? = nil
    ) throws(ReadError) -> any ByteSource {
        let isPacked = unpacking ?? hasGzipName
        let source: any ByteSource = isPacked ? try GzipSource(self) : PlainSource(self)
        let marked = encoding == nil ? try Self.markedEncoding(of: source) : nil
        guard let encoding = encoding ?? marked, !encoding.isUTF8 else {
            return source
        }
        return try TranscodedSource(source, from: encoding)
    }

    private var hasGzipName: Bool {
        name.utf8.suffix(3).elementsEqual(".gz".utf8) { $0 | 0x20 == $1 | 0x20 }
    }

    private static func markedEncoding(of source: any ByteSource) throws(ReadError) -> TextEncoding?
    {
        var mark: [UInt8] = [0, 0]
        var count = 0
        while count < 2 {
            let read = try mark.withUnsafeMutableBufferPointer {
                (mark) throws(ReadError) -> Int in
                let rest = UnsafeMutableBufferPointer(rebasing: mark[count...])
                return try source.read(into: UnsafeMutableRawBufferPointer(rest))
            }
            if read == 0 { break }
            count += read
        }
        try source.skip(to: 0)
        return switch mark {
        case [0xFF, 0xFE]: .utf16LittleEndian
        case [0xFE, 0xFF]: .utf16BigEndian
        default: nil
        }
    }
}
