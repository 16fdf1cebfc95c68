import Testing

@testable import BulkheadJobs

@Suite struct EncodingTests {
    private let directory: TemporaryDirectory
    private let root: ImportRoot

    init() throws {
        directory = try TemporaryDirectory()
        root = ImportRoot(directory.path)
    }

    private func utf16(_ text: String, isLittleEndian: Bool) -> [UInt8] {
        text.utf16.flatMap { unit -> [UInt8] in
            let low = UInt8(truncatingIfNeeded: unit)
            let high = UInt8(truncatingIfNeeded: unit >> 8)
            return isLittleEndian ? [low, high] : [high, low]
        }
    }

    private func reader(_ bytes: [UInt8], _ encoding: String? = nil) throws -> RecordReader {
        try directory.write(bytes, to: "in.csv")
        let encoding = try encoding.map { try #require(TextEncoding($0)) }
        return RecordReader(try root.open("in.csv").source(encoding: encoding))
    }

    @Test(arguments: [true, false])
    func aMarkOfUTF16IsHonoured(isLittleEndian: Bool) throws {
        let text = "\u{FEFF}id,name\r\n1,żółć 🙂\r\n2,\"a\nb\"\r\n"
        let loaded = try LoadedFile(reader(utf16(text, isLittleEndian: isLittleEndian)))
        #expect(loaded.names == ["id", "name"])
        #expect(loaded.rows == [["1", "żółć 🙂"], ["2", "a\nb"]])
        #expect(loaded.rowLines == [2, 3])
    }

    @Test(arguments: ["UTF16", "utf-16le", "UTF_16"])
    func anEncodingThatIsNamedNeedsNoMark(name: String) throws {
        let loaded = try LoadedFile(reader(utf16("id\nä\n", isLittleEndian: true), name))
        #expect(loaded.names == ["id"])
        #expect(loaded.rows == [["ä"]])
    }

    @Test func aLoneSurrogateRejectsItsRecordOnly() throws {
        var bytes = utf16("\u{FEFF}id\na", isLittleEndian: true)
        bytes += [0x00, 0xD8] + utf16("b\nc\n", isLittleEndian: true)
        bytes += utf16("d", isLittleEndian: true) + [0x41]
        let loaded = try LoadedFile(reader(bytes))
        #expect(loaded.rows == [["c"]])
        #expect(loaded.rejects.map(\.line) == [2, 4])
        #expect(loaded.rejects.map(\.problem.sqlstate) == ["22021", "22021"])
    }

    @Test(
        arguments: [
            ("LATIN1", [0xE9], "é"), ("WIN1250", [0xB9], "ą"), ("windows-1252", [0x80], "€"),
            ("LATIN9", [0xA4], "€"), ("SJIS", [0x93, 0xFA], "日"), ("EUC_JP", [0xC6, 0xFC], "日"),
            ("KOI8R", [0xC1], "а"), ("ISO_8859_5", [0xD0], "а"), ("GB18030", [0xC8, 0xD5], "日"),
            ("BIG5", [0xA4, 0xE9], "日"), ("UTF8", [0xC3, 0xA9], "é"),
        ] as [(String, [UInt8], String)]
    )
    func otherEncodingsAreConverted(name: String, bytes: [UInt8], text: String) throws {
        let loaded = try LoadedFile(reader(Array("id\n".utf8) + bytes + [0x0A], name))
        #expect(loaded.rows == [[text]])
    }

    @Test func bytesThatTheEncodingLacksRejectTheirRecordOnly() throws {
        // 0x81 is no character of this encoding.
        let loaded = try LoadedFile(reader(Array("id\na".utf8) + [0x81, 0x0A, 0x62], "WIN1252"))
        #expect(loaded.rows == [["b"]])
        #expect(loaded.rejects.map(\.line) == [2])
        #expect(loaded.rejects.first?.problem.message.contains("at offset 1 of the record") == true)
    }

    /// The system's converter for this encoding has passed over them when it refuses them.
    @Test(arguments: [[Int.max], [1], [2], [3]])
    func bytesWithoutMeaningTakeNoLineEndWithThem(pieces: [Int]) throws {
        let bytes: [UInt8] = [0x61, 0xA2, 0xE8, 0x0A, 0xA2, 0xE8, 0xB0, 0xA1, 0x0A, 0xB0, 0xA1]
        let source = try TranscodedSource(
            MemorySource(bytes, pieces: pieces),
            from: try #require(TextEncoding("UHC"))
        )
        let seen = SeenFile(reading: RecordReader(source))
        #expect(
            seen.records.map(\.bytes) == [
                [0x61, 0xFF], [0xFF] + Array("가".utf8), Array("가".utf8),
            ]
        )
    }

    @Test(arguments: 32_764...32_770)
    func aBadByteIsNotLostWhereABufferEnds(count: Int) throws {
        let bytes = [UInt8](repeating: 0xE9, count: count) + [0x81, 0x0A, 0x62]
        let seen = try SeenFile(reading: reader(bytes, "WIN1252"))
        #expect(seen.records.map(\.length) == [Int64(2 * count + 1), 1])
        #expect(seen.records.first?.bytes.last == 0xFF)
    }

    @Test(arguments: ["", "no such", "UTF-8//TRANSLIT", "../x", "é"])
    func whatCannotBeTheNameOfAnEncodingIsNone(name: String) {
        #expect(TextEncoding(name) == nil)
    }

    @Test func anEncodingThatTheSystemLacksIsRefused() {
        let error = #expect(throws: ReadError.self) { try reader([], "KLINGON") }
        #expect(error?.code == .unknownEncoding)
        #expect(error?.message.contains("KLINGON") == true)
    }

    @Test func aLongFileIsReadOnFromAPosition() throws {
        let text = "\u{FEFF}" + (0..<40_000).map { "\($0),ż🙂\n" }.joined()
        let bytes = utf16(text, isLittleEndian: true)
        let first = try reader(bytes)
        for _ in 0..<30_000 {
            _ = try first.next()
        }
        let source = try root.open("in.csv").source()
        let seen = SeenFile(reading: RecordReader(source, from: first.position))
        #expect(seen.records.count == 10_000)
        #expect(seen.texts.first == ["30000", "ż🙂"])
        #expect(seen.lines.last == 40_000)
        #expect(source.fractionRead == 1)
        try source.skip(to: 3)
        let again = SeenFile(
            reading: RecordReader(source, from: ReadPosition(offset: 3, line: 1))
        )
        #expect(again.records.count == 40_000)
    }

    @Test func skippingBeyondTheEndFails() throws {
        try directory.write(utf16("\u{FEFF}a", isLittleEndian: true), to: "in.csv")
        let source = try root.open("in.csv").source()
        let error = #expect(throws: ReadError.self) { try source.skip(to: 5) }
        #expect(error?.code == .changed)
    }
}
