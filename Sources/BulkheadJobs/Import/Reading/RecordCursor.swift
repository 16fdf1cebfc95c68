/// Walks through a file in the memory of one window, by records or by lines.
struct RecordCursor {
    /// Where the next record starts, in unpacked bytes.
    private(set) var offset: Int64

    private var window: ReadWindow
    private var scanner: RecordScanner
    private let kept: Int

    init(_ layout: RecordLayout, from position: ReadPosition, limits: ReadLimits) {
        offset = position.offset
        window = ReadWindow(limits)
        scanner = RecordScanner(layout, position: position, limit: limits.record)
        kept = limits.kept
    }

    var position: ReadPosition {
        ReadPosition(
            offset: offset,
            line: scanner.nextLine,
            carriageReturnEndsLine: scanner.lineEnds.carriageReturnAlone
        )
    }

    /// Passes over a byte order mark, which only the first bytes of a file can be.
    mutating func dropMark(from source: any ByteSource) throws(ReadError) {
        while window.unread.count < 3, !window.isAtEnd {
            try window.fill(from: source)
        }
        if window.bytes[window.unread].starts(with: [0xEF, 0xBB, 0xBF]) {
            window.advance(3)
            offset = 3
        }
    }

    /// The next record; nil at the end of the file.
    mutating func next(from source: any ByteSource) throws(ReadError) -> Record? {
        while true {
            switch scanner.scan(window) {
            case .record: return takeRecord()
            case .blankLine: advance()
            case .needsMore:
                if scanner.isTooLong {
                    window.drop(scanner.forget(from: kept))
                }
                try window.fill(from: source)
            case .end: return nil
            case .unterminatedQuote: throw ReadError.unterminatedQuote(source.name, scanner.line)
            }
        }
    }

    /// Passes over one physical line; false at the end of the file.
    mutating func skipLine(from source: any ByteSource) throws(ReadError) -> Bool {
        while true {
            switch scanner.skipLine(window) {
            case .needsMore:
                window.drop(scanner.forget(from: 0))
                try window.fill(from: source)
            case .end: return false
            default:
                advance()
                return true
            }
        }
    }

    private mutating func takeRecord() -> Record {
        let isTooLong = scanner.flaw?.isTooLong ?? false
        let shown = isTooLong ? min(scanner.length, Int64(kept)) : scanner.length
        let record = Record(
            line: scanner.line,
            offset: offset,
            length: scanner.length,
            lineEnd: lineEnd,
            flaw: scanner.flaw,
            fields: scanner.fields,
            window: window.bytes,
            range: window.head..<window.head + Int(shown)
        )
        advance()
        return record
    }

    /// What ended the record at hand.
    private var lineEnd: LineEnd {
        switch scanner.lineEndSize {
        case 0: .none
        case 1:
            window.bytes[window.head + scanner.consumed - 1] == Byte.lineFeed
                ? .lineFeed : .carriageReturn
        default: .both
        }
    }

    private mutating func advance() {
        offset += scanner.forgotten + Int64(scanner.consumed)
        window.advance(scanner.consumed)
    }
}

extension RecordScanner {
    fileprivate mutating func scan(_ window: ReadWindow) -> Step {
        scan(window.bytes.span.extracting(window.unread), atEnd: window.isAtEnd)
    }

    fileprivate mutating func skipLine(_ window: ReadWindow) -> Step {
        skipLine(window.bytes.span.extracting(window.unread), atEnd: window.isAtEnd)
    }
}
