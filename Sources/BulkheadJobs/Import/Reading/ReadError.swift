/// What ends the reading of a file: what failed, where, and what to do next.
struct ReadError: Error, Sendable, Equatable, CustomStringConvertible {
    let code: Code
    /// One line, safe to log and to show.
    let message: String
    /// The physical line of the file that it is about, where there is one.
    let line: Int64?

    init(_ code: Code, _ message: String, line: Int64? = nil) {
        self.code = code
        self.message = message
        self.line = line
    }

    var description: String { message }
}

extension ReadError {
    /// The kind of a failure, for callers that act on it.
    struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Payload {
            case badRoot, badName, outsideRoot, missing, taken, notRegularFile, unreadable, changed
            case notGzip, emptyGzip, truncatedGzip, checksum, corruptGzip, trailingData
            case unknownEncoding, missingHeader, badHeader, unterminatedQuote
        }

        private let value: Payload

        /// The import root itself cannot be used.
        static let badRoot = Code(value: .badRoot)
        /// The name cannot be the name of a file.
        static let badName = Code(value: .badName)
        /// The file does not lie inside the import root, or would not if it existed.
        static let outsideRoot = Code(value: .outsideRoot)
        /// No such file inside the import root.
        static let missing = Code(value: .missing)
        /// A file that was to be made is there already.
        static let taken = Code(value: .taken)
        /// A directory, a FIFO, a device or a socket.
        static let notRegularFile = Code(value: .notRegularFile)
        /// The system refused to open or to read the file.
        static let unreadable = Code(value: .unreadable)
        /// The file is not the one that was opened, or is still being written.
        static let changed = Code(value: .changed)
        /// The file should be compressed and is not.
        static let notGzip = Code(value: .notGzip)
        /// The file should be compressed and has no bytes.
        static let emptyGzip = Code(value: .emptyGzip)
        /// The compressed data end before their trailer does.
        static let truncatedGzip = Code(value: .truncatedGzip)
        /// The compressed data do not match the checksum or the length stored beside them.
        static let checksum = Code(value: .checksum)
        /// The compressed data cannot be unpacked.
        static let corruptGzip = Code(value: .corruptGzip)
        /// Something that is not compressed data follows the last gzip member.
        static let trailingData = Code(value: .trailingData)
        /// The system has no converter for the encoding of the file.
        static let unknownEncoding = Code(value: .unknownEncoding)
        /// The file has no header where one is expected.
        static let missingHeader = Code(value: .missingHeader)
        /// The header cannot be read.
        static let badHeader = Code(value: .badHeader)
        /// A quote is still open at the end of the file.
        static let unterminatedQuote = Code(value: .unterminatedQuote)

        var description: String { "\(value)" }
    }
}
