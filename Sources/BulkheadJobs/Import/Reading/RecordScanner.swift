internal import Glibc

/// Finds where records and fields end, whatever pieces the bytes of a file come in.
///
/// It is shown the bytes from the start of the unfinished record on, and remembers how far it has
/// looked, so that no byte is looked at again when more of them arrive.
struct RecordScanner {
    enum Step: Equatable {
        case record, blankLine, needsMore, end, unterminatedQuote
    }

    /// No table comes near this many columns; without a limit, a file of commas would fill memory.
    static let mostFields = 65_536

    /// The physical line where the record starts.
    private(set) var line: Int64
    /// The physical line that follows the record.
    private(set) var nextLine: Int64
    private(set) var lineEnds: LineEnds
    private(set) var fields: [Field] = []
    private(set) var flaw: RecordFlaw?
    /// Bytes of the record in the file, without its line end.
    private(set) var length: Int64 = 0
    /// Bytes shown last that belong to the record and its line end.
    private(set) var consumed = 0
    /// Those of them that are the line end.
    private(set) var lineEndSize = 0
    /// Bytes of the record that are shown no more.
    private(set) var forgotten: Int64 = 0
    /// Whether the record has outgrown the limit, so that its bytes need not be kept.
    private(set) var isTooLong = false

    private let delimiter: UInt8
    private let quote: UInt8
    private let escape: UInt8
    private let quoteIsDoubled: Bool
    private let limit: Int
    private let isByLines: Bool

    private var state = State.recordStart
    private var isFinished = false
    private var cursor = 0
    private var fieldStart = 0
    private var fieldEnd = 0
    private var fieldIsEscaped = false
    private var fieldCount = 0

    private enum State {
        case recordStart, fieldStart, unquoted, quoted, afterQuote
        /// What is left of the line belongs to the record, whatever stands there.
        case restOfLine
    }

    init(_ layout: RecordLayout, position: ReadPosition = .start, limit: Int) {
        let dialect: TextDialect
        switch layout {
        case .fields(let fields):
            dialect = fields
            isByLines = false
        case .lines:
            dialect = .csv
            isByLines = true
        }
        line = position.line
        nextLine = position.line
        lineEnds = LineEnds(carriageReturnAlone: position.carriageReturnEndsLine)
        delimiter = dialect.delimiter
        quote = dialect.quote
        escape = dialect.escape ?? dialect.quote
        quoteIsDoubled = dialect.escape == nil
        self.limit = limit
    }

    /// Looks on from where it stopped; `atEnd` says that no byte follows those shown.
    mutating func scan(_ bytes: Span<UInt8>, atEnd: Bool) -> Step {
        if isFinished {
            begin()
        }
        while true {
            let step =
                switch state {
                case .unquoted: scanUnquoted(bytes, atEnd)
                case .quoted: scanQuoted(bytes, atEnd)
                case .fieldStart: startField(bytes, atEnd)
                case .afterQuote: leaveQuotes(bytes, atEnd)
                case .recordStart: startRecord(bytes, atEnd)
                case .restOfLine: scanLine(bytes, atEnd, as: .record)
                }
            if let step {
                return step
            }
        }
    }

    /// Passes over one physical line, quotes or not.
    mutating func skipLine(_ bytes: Span<UInt8>, atEnd: Bool) -> Step {
        if isFinished {
            begin()
        }
        if atEnd, cursor == bytes.count, length(of: cursor) == 0 {
            return .end
        }
        return scanLine(bytes, atEnd, as: .blankLine)
    }

    /// The bytes of the record from `kept` to where the scanner looks next are shown no more.
    mutating func forget(from kept: Int) -> Range<Int> {
        let dropped = min(kept, cursor)..<cursor
        forgotten += Int64(dropped.count)
        cursor = dropped.lowerBound
        return dropped
    }
}

extension RecordScanner {
    private mutating func begin() {
        isFinished = false
        line = nextLine
        fields.removeAll(keepingCapacity: true)
        flaw = nil
        isTooLong = false
        state = .recordStart
        cursor = 0
        fieldStart = 0
        fieldCount = 0
        forgotten = 0
        lineEnds.forgetInside()
    }

    private mutating func startRecord(_ bytes: Span<UInt8>, _ atEnd: Bool) -> Step? {
        guard cursor < bytes.count else {
            return atEnd ? .end : .needsMore
        }
        if LineEnds.mayBegin(bytes[cursor]) {
            guard let size = lineEnds.size(at: cursor, in: bytes, atEnd: atEnd) else {
                return .needsMore
            }
            if size > 0 {
                return finish(.blankLine, lineEnd: size)
            }
        }
        state = isByLines ? .restOfLine : .fieldStart
        return nil
    }

    private mutating func startField(_ bytes: Span<UInt8>, _ atEnd: Bool) -> Step? {
        fieldStart = cursor
        guard cursor < bytes.count else {
            return atEnd ? finishField(quoted: false, at: cursor, lineEnd: 0) : pause(at: cursor)
        }
        if bytes[cursor] == quote {
            cursor += 1
            fieldStart = cursor
            fieldIsEscaped = false
            state = .quoted
        } else {
            state = .unquoted
        }
        return nil
    }

    private mutating func scanUnquoted(_ bytes: Span<UInt8>, _ atEnd: Bool) -> Step? {
        var index = cursor
        while index < bytes.count {
            let byte = bytes[index]
            if byte == delimiter {
                addField(quoted: false, at: index)
                index += 1
                guard index < bytes.count, bytes[index] != quote else {
                    cursor = index
                    state = .fieldStart
                    return nil
                }
                fieldStart = index
                continue
            }
            if LineEnds.mayBegin(byte) {
                guard let size = lineEnds.size(at: index, in: bytes, atEnd: atEnd) else {
                    return pause(at: index)
                }
                if size > 0 {
                    return finishField(quoted: false, at: index, lineEnd: size)
                }
            }
            index += 1
        }
        return atEnd ? finishField(quoted: false, at: index, lineEnd: 0) : pause(at: index)
    }

    private mutating func scanQuoted(_ bytes: Span<UInt8>, _ atEnd: Bool) -> Step? {
        var index = cursor
        while index < bytes.count {
            let byte = bytes[index]
            guard byte == quote || byte == escape || LineEnds.mayBegin(byte) else {
                index += 1
                continue
            }
            if byte == quote, !quoteIsDoubled {
                return closeQuote(at: index)
            }
            guard index + 1 < bytes.count || atEnd || byte == Byte.lineFeed else {
                return pause(at: index)
            }
            let next = index + 1 < bytes.count ? bytes[index + 1] : nil
            if byte == quote, next != quote {
                return closeQuote(at: index)
            }
            index += pass(byte, before: next)
        }
        let paused = pause(at: index)
        return atEnd ? .unterminatedQuote : paused
    }

    /// Takes in a special byte inside quotes; how many bytes belong to it.
    private mutating func pass(_ byte: UInt8, before next: UInt8?) -> Int {
        if LineEnds.mayBegin(byte) {
            return lineEnds.passInside(byte, before: next)
        }
        guard next == quote || next == escape else { return 1 }
        fieldIsEscaped = true
        return 2
    }

    private mutating func closeQuote(at index: Int) -> Step? {
        fieldEnd = index
        cursor = index + 1
        state = .afterQuote
        return nil
    }

    private mutating func leaveQuotes(_ bytes: Span<UInt8>, _ atEnd: Bool) -> Step? {
        guard cursor < bytes.count else {
            return atEnd ? finishField(quoted: true, at: cursor, lineEnd: 0) : pause(at: cursor)
        }
        if bytes[cursor] == delimiter {
            addField(quoted: true, at: fieldEnd)
            cursor += 1
            state = .fieldStart
            return nil
        }
        if LineEnds.mayBegin(bytes[cursor]) {
            guard let size = lineEnds.size(at: cursor, in: bytes, atEnd: atEnd) else {
                return pause(at: cursor)
            }
            if size > 0 {
                return finishField(quoted: true, at: cursor, lineEnd: size)
            }
        }
        flaw = .textAfterQuote(field: fieldCount + 1)
        state = .restOfLine
        return nil
    }

    /// Goes to the end of the line, whatever stands before it.
    private mutating func scanLine(_ bytes: Span<UInt8>, _ atEnd: Bool, as step: Step) -> Step {
        if lineEnds.carriageReturnAlone == false {
            return scanToFeed(bytes, atEnd, as: step)
        }
        while cursor < bytes.count {
            if LineEnds.mayBegin(bytes[cursor]) {
                guard let size = lineEnds.size(at: cursor, in: bytes, atEnd: atEnd) else {
                    return pause(at: cursor)
                }
                if size > 0 {
                    return finish(step, lineEnd: size)
                }
            }
            cursor += 1
        }
        return atEnd ? finish(step, lineEnd: 0) : pause(at: cursor)
    }

    /// The same where only a line feed ends lines, with or without a carriage return before it.
    private mutating func scanToFeed(_ bytes: Span<UInt8>, _ atEnd: Bool, as step: Step) -> Step {
        let start = cursor
        guard let feed = bytes.firstLineFeed(from: start) else {
            cursor = bytes.count
            if atEnd { return finish(step, lineEnd: 0) }
            // The line feed behind it may come with the next bytes.
            let endsInReturn = cursor > start && bytes[cursor - 1] == Byte.carriageReturn
            return pause(at: endsInReturn ? cursor - 1 : cursor)
        }
        let hasReturn = feed > start && bytes[feed - 1] == Byte.carriageReturn
        cursor = hasReturn ? feed - 1 : feed
        return finish(step, lineEnd: hasReturn ? 2 : 1)
    }
}

extension Span<UInt8> {
    fileprivate func firstLineFeed(from start: Int) -> Int? {
        extracting(start..<count).withUnsafeBytes { rest in
            guard let base = rest.baseAddress,
                let found = memchr(base, Int32(Byte.lineFeed), rest.count)
            else { return nil }
            return start + (UnsafeRawPointer(found) - base)
        }
    }
}

extension RecordScanner {
    private func length(of shown: Int) -> Int64 {
        forgotten + Int64(shown)
    }

    private mutating func pause(at index: Int) -> Step {
        cursor = index
        if length(of: index) > limit {
            isTooLong = true
            fields.removeAll(keepingCapacity: true)
        }
        return .needsMore
    }

    private mutating func addField(quoted: Bool, at end: Int) {
        fieldCount += 1
        guard !isTooLong, fieldCount <= Self.mostFields else { return }
        let isEscaped = quoted && fieldIsEscaped
        fields.append(Field(start: fieldStart, end: end, isQuoted: quoted, isEscaped: isEscaped))
    }

    private mutating func finishField(quoted: Bool, at index: Int, lineEnd: Int) -> Step {
        cursor = index
        addField(quoted: quoted, at: quoted ? fieldEnd : index)
        return finish(.record, lineEnd: lineEnd)
    }

    private mutating func finish(_ step: Step, lineEnd: Int) -> Step {
        isFinished = true
        length = length(of: cursor)
        consumed = cursor + lineEnd
        lineEndSize = lineEnd
        nextLine = line + 1 + lineEnds.inside
        if length > limit {
            flaw = .tooLong(limit: limit)
        } else if flaw == nil, fieldCount > Self.mostFields {
            flaw = .tooManyFields(limit: Self.mostFields)
        }
        if flaw != nil {
            fields.removeAll(keepingCapacity: true)
        }
        return step
    }
}
