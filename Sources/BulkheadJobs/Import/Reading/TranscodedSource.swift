internal import Glibc

/// Reads a source that is in another encoding, as UTF-8.
///
/// Offsets count the UTF-8 that comes out: positions and rejects speak of that.
final class TranscodedSource: ByteSource {
    private static let chunk = 64 << 10
    /// It is part of no UTF-8, so the record that holds it is rejected, and no other.
    private static let replacement: UInt8 = 0xFF

    private let source: any ByteSource
    private let converter: iconv_t
    private let unit: Int
    private let input = UnsafeMutableRawBufferPointer.allocate(byteCount: chunk, alignment: 16)
    private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: chunk, alignment: 16)
    private var unread = 0..<0
    private var ready = 0..<0
    private var isAtEnd = false
    /// Whether the replacement stands for bytes that may still lie ahead.
    private var isReplaced = false
    private(set) var offset: Int64 = 0

    /// Reads a source from its start.
    init(_ source: any ByteSource, from encoding: TextEncoding) throws(ReadError) {
        guard let converter = iconv_open("UTF-8", encoding.converterName),
            Int(bitPattern: converter) != -1
        else {
            input.deallocate()
            output.deallocate()
            throw ReadError.unknownEncoding(encoding.converterName, source.name)
        }
        self.source = source
        self.converter = converter
        unit = encoding.unit
    }

    deinit {
        iconv_close(converter)
        input.deallocate()
        output.deallocate()
    }

    var name: String { source.name }

    var fractionRead: Double { source.fractionRead }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(ReadError) -> Int {
        guard !buffer.isEmpty, try makeReady() else { return 0 }
        let part = take(buffer.count)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: output[part]))
        return part.count
    }

    func skip(to target: Int64) throws(ReadError) {
        if target < offset {
            try rewind()
        }
        while offset < target {
            guard try makeReady() else {
                throw ReadError.changed(name)
            }
            _ = take(Int(clamping: target - offset))
        }
    }

    private func take(_ count: Int) -> Range<Int> {
        let part = ready.prefix(count)
        ready = part.upperBound..<ready.upperBound
        offset += Int64(part.count)
        return part
    }

    /// Whether there is any output; false at the end.
    private func makeReady() throws(ReadError) -> Bool {
        while ready.isEmpty {
            if isAtEnd, unread.isEmpty {
                return false
            }
            try convert()
        }
        return true
    }

    private func rewind() throws(ReadError) {
        try source.skip(to: 0)
        iconv(converter, nil, nil, nil, nil)
        unread = 0..<0
        ready = 0..<0
        isAtEnd = false
        isReplaced = false
        offset = 0
    }

    /// Fills the output, which is empty; it may stay so while a character is incomplete.
    private func convert() throws(ReadError) {
        if unread.isEmpty {
            try fillInput()
        }
        var inputLeft = unread.count
        // One byte less, for the replacement.
        let room = output.count - 1
        var outputLeft = room
        let failed = run(&inputLeft, &outputLeft)
        // A character that is not whole yet tells nothing: the next call has more of it.
        isReplaced = isReplaced && inputLeft == unread.count && outputLeft == room
        let wasReplaced = isReplaced && failed == EILSEQ
        unread = unread.upperBound - inputLeft..<unread.upperBound
        ready = 0..<room - outputLeft
        switch failed {
        case EILSEQ where wasReplaced:
            unread = unread.dropFirst(unit)
            isReplaced = false
        case EILSEQ:
            // Some converters stand before what they refuse, some behind it: the next call tells.
            replace()
            isReplaced = true
        case EINVAL where isAtEnd:
            unread = unread.dropFirst(unit)
            replace()
        case EINVAL: try fillInput()
        default: return
        }
    }

    /// Converts what it can; the number of the error that stopped it, 0 for none.
    private func run(_ inputLeft: inout Int, _ outputLeft: inout Int) -> Int32 {
        var target = output.baseAddress?.assumingMemoryBound(to: CChar.self)
        if unread.isEmpty {
            // The last character of some encodings is held back to see what follows it.
            return iconv(converter, nil, nil, &target, &outputLeft) < 0 ? errno : 0
        }
        var source = input.baseAddress?.advanced(by: unread.lowerBound)
            .assumingMemoryBound(to: CChar.self)
        return iconv(converter, &source, &inputLeft, &target, &outputLeft) < 0 ? errno : 0
    }

    private func replace() {
        output[ready.upperBound] = Self.replacement
        ready = ready.lowerBound..<ready.upperBound + 1
    }

    private func fillInput() throws(ReadError) {
        let left = unread.count
        input.copyMemory(from: UnsafeRawBufferPointer(rebasing: input[unread]))
        let count = try source.read(into: UnsafeMutableRawBufferPointer(rebasing: input[left...]))
        isAtEnd = count == 0
        unread = 0..<left + count
    }
}
