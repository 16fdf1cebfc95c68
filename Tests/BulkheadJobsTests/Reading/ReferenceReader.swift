@testable import BulkheadJobs

/// Reads a whole file in memory the slow and obvious way, to check the fast reader against.
struct ReferenceReader {
    let bytes: [UInt8]
    let dialect: TextDialect
    let limits: ReadLimits
    private var returnEndsLine = false
    private var start = 0

    init(_ bytes: [UInt8], _ dialect: TextDialect, limits: ReadLimits, skippedLines: Int) {
        self.bytes = bytes
        self.dialect = dialect
        self.limits = limits
        start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        settleReturns(ignoringQuotes: skippedLines > 0)
        for _ in 0..<skippedLines {
            let end = endOfLine(from: start)
            start = end + lineEnd(at: end)
        }
    }

    /// Tries out that a carriage return ends lines: it does if it then ends the first one.
    private mutating func settleReturns(ignoringQuotes: Bool) {
        returnEndsLine = true
        let end = ignoringQuotes ? endOfLine(from: start) : parse(at: start)?.end
        returnEndsLine = end.map { byte(at: $0) == 0x0D && lineEnd(at: $0) == 1 } ?? false
    }

    func read() -> SeenFile {
        var seen = SeenFile()
        var index = start
        while index < bytes.count {
            let blank = lineEnd(at: index)
            if blank > 0 {
                index += blank
                continue
            }
            guard let parsed = parse(at: index) else {
                seen.failure = .unterminatedQuote
                seen.failureLine = line(at: index)
                return seen
            }
            seen.records.append(record(from: index, parsed))
            index = parsed.end + lineEnd(at: parsed.end)
        }
        return seen
    }

    private func record(from index: Int, _ parsed: Parsed) -> SeenRecord {
        let isTooLong = parsed.end - index > limits.record
        let flaw = isTooLong ? .tooLong(limit: limits.record) : parsed.flaw
        let kept = isTooLong ? limits.kept : Int.max
        return SeenRecord(
            line: line(at: index),
            offset: Int64(index),
            length: Int64(parsed.end - index),
            bytes: Array(bytes[index..<parsed.end].prefix(kept)),
            values: flaw == nil ? parsed.values : [],
            flaw: flaw
        )
    }

    private struct Parsed {
        var values: [SeenValue] = []
        var flaw: RecordFlaw?
        var end = 0
    }

    /// Nil when a quote is still open at the end of the file.
    private func parse(at start: Int) -> Parsed? {
        var parsed = Parsed()
        var index = start
        while true {
            if byte(at: index) == dialect.quote {
                guard let (value, next) = quoted(at: index + 1) else { return nil }
                if next < bytes.count, bytes[next] != dialect.delimiter, lineEnd(at: next) == 0 {
                    parsed.flaw = .textAfterQuote(field: parsed.values.count + 1)
                    parsed.end = endOfLine(from: next)
                    return parsed
                }
                parsed.values.append(SeenValue(bytes: value, isQuoted: true))
                index = next
            } else {
                let first = index
                while index < bytes.count, bytes[index] != dialect.delimiter,
                    lineEnd(at: index) == 0
                {
                    index += 1
                }
                parsed.values.append(SeenValue(bytes: Array(bytes[first..<index]), isQuoted: false))
            }
            guard byte(at: index) == dialect.delimiter else {
                parsed.end = index
                return parsed
            }
            index += 1
        }
    }

    /// The value that begins after an opening quote, and where its closing quote has ended.
    private func quoted(at start: Int) -> ([UInt8], Int)? {
        var value: [UInt8] = []
        var index = start
        while index < bytes.count {
            let here = bytes[index]
            let next = byte(at: index + 1)
            if let escape = dialect.escape, here == escape, next == escape || next == dialect.quote
            {
                value.append(bytes[index + 1])
                index += 2
            } else if dialect.escape == nil, here == dialect.quote, next == dialect.quote {
                value.append(here)
                index += 2
            } else if here == dialect.quote {
                return (value, index + 1)
            } else {
                value.append(here)
                index += 1
            }
        }
        return nil
    }

    private func endOfLine(from start: Int) -> Int {
        var index = start
        while index < bytes.count, lineEnd(at: index) == 0 {
            index += 1
        }
        return index
    }

    /// The bytes of the line end that begins here, 0 when none does.
    private func lineEnd(at index: Int) -> Int {
        switch byte(at: index) {
        case 0x0A: 1
        case 0x0D where byte(at: index + 1) == 0x0A: 2
        case 0x0D where returnEndsLine: 1
        default: 0
        }
    }

    private func line(at offset: Int) -> Int64 {
        var line: Int64 = 1
        var index = 0
        while index < offset {
            let size = lineEnd(at: index)
            line += size > 0 ? 1 : 0
            index += max(1, size)
        }
        return line
    }

    private func byte(at index: Int) -> UInt8? {
        index < bytes.count ? bytes[index] : nil
    }
}
