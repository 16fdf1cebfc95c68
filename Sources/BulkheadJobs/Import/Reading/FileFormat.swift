/// How a file is written, as far as finding its records goes.
struct FileFormat: Sendable {
    var layout = RecordLayout.fields(.csv)
    /// The encoding that it is in; nil when its first bytes tell, UTF-8 without a mark.
    var encoding: TextEncoding?
    var limits = ReadLimits.standard

    /// Starts to read a file at a position that an earlier reader of it gave.
    func reader(of file: OpenFile, from position: ReadPosition = .start) throws(ReadError)
        -> RecordReader
    {
        RecordReader(
            try file.source(encoding: encoding),
            layout: layout,
            from: position,
            limits: limits
        )
    }
}
