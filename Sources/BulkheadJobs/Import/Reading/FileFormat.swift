/// How a file is written, as far as finding its records goes.
struct FileFormat: Sendable {
    var layout = RecordLayout.fields(.csv)

    /// Starts to read a file at a position that an earlier reader of it gave.
    func reader(of file: OpenFile, from position: ReadPosition = .start) throws(ReadError)
        -> RecordReader
    {
        RecordReader(try file.source(), layout: layout, from: position)
    }
}
