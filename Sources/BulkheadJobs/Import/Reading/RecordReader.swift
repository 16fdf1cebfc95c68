/// Reads a text file record by record.
final class RecordReader {
    let layout: RecordLayout

    /// The header with its line end, as it stands in the file; nil as long as none has been read.
    private(set) var header: [UInt8]?

    private let source: any ByteSource
    private var cursor: RecordCursor
    private var isOpened = false

    /// Starts at a position that an earlier reader of the same file gave, or at the top.
    init(
        _ source: any ByteSource,
        layout: RecordLayout,
        from position: ReadPosition = .start,
        limits: ReadLimits = .standard
    ) {
        self.source = source
        self.layout = layout
        cursor = RecordCursor(layout, from: position, limits: limits.sane)
    }

    /// Starts to read delimited text.
    convenience init(
        _ source: any ByteSource,
        dialect: TextDialect = .csv,
        from position: ReadPosition = .start,
        limits: ReadLimits = .standard
    ) {
        self.init(source, layout: .fields(dialect), from: position, limits: limits)
    }

    /// How the fields are written, where there are any.
    var dialect: TextDialect {
        if case .fields(let dialect) = layout { dialect } else { .csv }
    }

    /// Where the next record starts, or blank lines before it.
    var position: ReadPosition { cursor.position }

    /// Whether the file is in another encoding than the text that is read from it.
    var isConverted: Bool { source is TranscodedSource }

    /// The share of the file that has been read, from 0 to 1.
    var fractionRead: Double { source.fractionRead }

    /// The next record; nil at the end of the file.
    func next() throws(ReadError) -> Record? {
        try open()
        return try cursor.next(from: source)
    }

    /// Passes over physical lines, whatever stands in them.
    func skipLines(_ count: Int) throws(ReadError) {
        try open()
        var left = count
        while left > 0, try cursor.skipLine(from: source) {
            left -= 1
        }
    }

    /// The names in the header; the next record is the first one after it.
    func readHeader() throws(ReadError) -> [String] {
        guard let header = try next() else {
            throw ReadError.missingHeader(source.name)
        }
        if let flaw = header.flaw {
            throw ReadError.badHeader(source.name, header.line, RecordProblem(flaw).message)
        }
        self.header = Array(header.bytes) + Array(header.lineEnd.text.utf8)
        var names: [String] = []
        for index in header.fields.indices {
            let value = header.value(at: index, in: dialect) ?? []
            guard let name = String(validating: value, as: UTF8.self) else {
                throw ReadError.badHeader(
                    source.name,
                    header.line,
                    "the name in field \(index + 1) is not valid in the file's encoding"
                )
            }
            names.append(name)
        }
        return names
    }

    private func open() throws(ReadError) {
        guard !isOpened else { return }
        if cursor.offset > 0 {
            try source.skip(to: cursor.offset)
        } else {
            try cursor.dropMark(from: source)
        }
        isOpened = true
    }
}
