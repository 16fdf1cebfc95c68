/// One record as it stands in the reader's window.
///
/// It cannot be copied, so that nothing keeps the window alive: keep what is needed of it.
struct Record: ~Copyable {
    /// The physical line where it starts, counted from 1 at the top of the file.
    let line: Int64
    /// Unpacked bytes of the file before it.
    let offset: Int64
    /// Bytes of it in the file, without its line end.
    let length: Int64
    let lineEnd: LineEnd
    let flaw: RecordFlaw?
    /// The fields, in bytes from the start of the record; none when there is a flaw.
    let fields: [Field]

    /// The window shares its storage with the reader, so that a record costs no copy of its bytes.
    private let window: [UInt8]
    private let start: Int
    private let end: Int

    init(
        line: Int64,
        offset: Int64,
        length: Int64,
        lineEnd: LineEnd,
        flaw: RecordFlaw?,
        fields: [Field],
        window: [UInt8],
        range: Range<Int>
    ) {
        self.line = line
        self.offset = offset
        self.length = length
        self.lineEnd = lineEnd
        self.flaw = flaw
        self.fields = fields
        self.window = window
        start = range.lowerBound
        end = range.upperBound
    }

    /// The bytes as they stand in the file, without the line end; of a record that is too long the
    /// first ones.
    var bytes: ArraySlice<UInt8> { window[start..<end] }

    /// Lends the bytes.
    func withSpan<Value: ~Copyable>(_ body: (Span<UInt8>) -> Value) -> Value {
        body(window.span.extracting(start..<end))
    }
}
