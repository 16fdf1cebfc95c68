/// Reads a delimited text file record by record, in the memory of one window.
final class RecordReader {
    let dialect: TextDialect

    private let source: any ByteSource
    private let kept: Int
    private var window: ReadWindow
    private var scanner: RecordScanner
    private var offset: Int64
    private var isOpened = false

    /// Starts at a position that an earlier reader of the same file gave, or at the top.
    init(
        _ source: any ByteSource,
        dialect: TextDialect = .csv,
        from position: ReadPosition = .start,
        limits: ReadLimits = .standard
    ) {
        self.source = source
        self.dialect = dialect
        let limits = limits.sane
        kept = limits.kept
        window = ReadWindow(limits)
        scanner = RecordScanner(dialect: dialect, position: position, limit: limits.record)
        offset = position.offset
    }

    /// Where the next record starts.
    var position: ReadPosition {
        ReadPosition(
            offset: offset,
            line: scanner.nextLine,
            carriageReturnEndsLine: scanner.carriageReturnEndsLine
        )
    }

    /// The share of the file that has been read, from 0 to 1.
    var fractionRead: Double { source.fractionRead }

    /// The next record; nil at the end of the file.
    func next() throws(ReadError) -> Record? {
        try open()
        while true {
            let unread = window.unread
            let step = scanner.scan(
                window.bytes.span.extracting(unread),
                atEnd: window.isAtEnd
            )
            switch step {
            case .record: return takeRecord()
            case .blankLine: advance()
            case .needsMore: try readOn(keeping: scanner.isTooLong ? kept : nil)
            case .end: return nil
            case .unterminatedQuote: throw ReadError.unterminatedQuote(source.name, scanner.line)
            }
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
        var names: [String] = []
        for index in header.fields.indices {
            let value = header.value(at: index, in: dialect) ?? []
            guard let name = String(validating: value, as: UTF8.self) else {
                throw ReadError.badHeader(
                    source.name,
                    header.line,
                    "the name in field \(index + 1) is not valid UTF-8"
                )
            }
            names.append(name)
        }
        return names
    }

    /// Passes over physical lines, whatever stands in them.
    func skipLines(_ count: Int) throws(ReadError) {
        try open()
        var left = count
        while left > 0 {
            let unread = window.unread
            let step = scanner.skipLine(
                window.bytes.span.extracting(unread),
                atEnd: window.isAtEnd
            )
            switch step {
            case .needsMore: try readOn(keeping: 0)
            case .end: return
            default:
                advance()
                left -= 1
            }
        }
    }

    private func open() throws(ReadError) {
        guard !isOpened else { return }
        if offset > 0 {
            try source.skip(to: offset)
        } else {
            try dropMark()
        }
        isOpened = true
    }

    private func dropMark() throws(ReadError) {
        while window.unread.count < 3, !window.isAtEnd {
            try window.fill(from: source)
        }
        if window.bytes[window.unread].starts(with: [0xEF, 0xBB, 0xBF]) {
            window.advance(3)
            offset = 3
        }
    }

    private func readOn(keeping kept: Int?) throws(ReadError) {
        if let kept {
            window.drop(scanner.forget(from: kept))
        }
        try window.fill(from: source)
    }

    private func takeRecord() -> Record {
        let isTooLong = scanner.flaw?.isTooLong ?? false
        let shown = isTooLong ? min(scanner.length, Int64(kept)) : scanner.length
        let record = Record(
            line: scanner.line,
            offset: offset,
            length: scanner.length,
            flaw: scanner.flaw,
            fields: scanner.fields,
            window: window.bytes,
            range: window.head..<window.head + Int(shown)
        )
        advance()
        return record
    }

    private func advance() {
        offset += scanner.forgotten + Int64(scanner.consumed)
        window.advance(scanner.consumed)
    }
}
