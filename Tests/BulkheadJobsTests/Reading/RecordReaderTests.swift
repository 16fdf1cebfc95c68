import Foundation
import Testing

@testable import BulkheadJobs

@Suite struct RecordReaderTests {
    /// A small file and what it holds.
    struct Example: CustomTestStringConvertible {
        var text: String
        var dialect = TextDialect.csv
        var texts: [[String]]
        var lines: [Int64]

        init(
            _ text: String,
            _ texts: [[String]],
            at lines: [Int64],
            in dialect: TextDialect = .csv
        ) {
            self.text = text
            self.texts = texts
            self.lines = lines
            self.dialect = dialect
        }

        var testDescription: String { text.debugDescription }
    }

    static let examples = [
        Example("a,b\n1,2\n", [["a", "b"], ["1", "2"]], at: [1, 2]),
        Example("a\tb\n1,2\t\"3\t4\"\n", [["a", "b"], ["1,2", "3\t4"]], at: [1, 2], in: .tsv),
        Example("a,b\r\n1,2\n3,4\r\n", [["a", "b"], ["1", "2"], ["3", "4"]], at: [1, 2, 3]),
        Example("a,b\r1,2\r", [["a", "b"], ["1", "2"]], at: [1, 2]),
        Example("a\r\rb\r\nc\nd", [["a"], ["b"], ["c"], ["d"]], at: [1, 3, 4, 5]),
        Example("a\nb\rc\n", [["a"], ["b\rc"]], at: [1, 2]),
        Example("a\r\nb\rc\r", [["a"], ["b\rc\r"]], at: [1, 2]),
        Example("\"a\"\r\n\"b\"\r", [["a"], []], at: [1, 2]),
        Example("a\n\n\r\nb", [["a"], ["b"]], at: [1, 4]),
        Example("\n\na\n", [["a"]], at: [3]),
        Example("a,\n", [["a", ""]], at: [1]),
        Example(",", [["", ""]], at: [1]),
        Example("\"a\"\"b\",c", [["a\"b", "c"]], at: [1]),
        Example("\"x\ny\"\nz", [["x\ny"], ["z"]], at: [1, 3]),
        Example("\"x\r\ny\"\nz", [["x\r\ny"], ["z"]], at: [1, 3]),
        Example("\"x\ry\"\nz", [["x\ry"], ["z"]], at: [1, 2]),
        Example("\"x\ry\"\rz", [["x\ry"], ["z"]], at: [1, 3]),
        Example("\"x\r\ny\"\rz", [["x\r\ny"], ["z"]], at: [1, 3]),
        Example("a\"b,c\n", [["a\"b", "c"]], at: [1]),
        Example(" \"a\",b \n", [[" \"a\"", "b "]], at: [1]),
        Example("\"\"\n", [[""]], at: [1]),
        Example("\u{FEFF}\"id\",b\n", [["id", "b"]], at: [1]),
        Example("a\n\u{FEFF}b\n", [["a"], ["\u{FEFF}b"]], at: [1, 2]),
        Example("\\.\n", [["\\."]], at: [1]),
        Example("\"\\.\"\n\\.", [["\\."], ["\\."]], at: [1, 2]),
        Example("", [], at: []),
        Example("\u{FEFF}", [], at: []),
        Example("\n\n", [], at: []),
    ]

    @Test(arguments: examples)
    func recordsAndLinesAreFoundWhateverPiecesTheyComeIn(example: Example) {
        for piece in [Int.max, 1, 2, 3] {
            let seen = SeenFile(example.text, example.dialect, pieces: [piece])
            #expect(seen.texts == example.texts, "pieces of \(piece)")
            #expect(seen.lines == example.lines, "pieces of \(piece)")
            #expect(seen.failure == nil)
        }
    }

    @Test func anEscapeCharacterReplacesTheDoubledQuote() throws {
        let dialect = try TextDialect(escape: UInt8(ascii: "\\"))
        let seen = SeenFile(
            #"""
            "a\"b","c\\","d\e","f\n"
            "x""y",2
            g\"h,i
            """#,
            dialect
        )
        #expect(seen.texts == [["a\"b", "c\\", "d\\e", "f\\n"], [], ["g\\\"h", "i"]])
        #expect(seen.records.map(\.flaw) == [nil, .textAfterQuote(field: 1), nil])
    }

    @Test func anotherQuoteAndDelimiterMayBeChosen() throws {
        let dialect = try TextDialect(delimiter: UInt8(ascii: ";"), quote: UInt8(ascii: "'"))
        let seen = SeenFile("'a;''b';\"c\"\n", dialect)
        #expect(seen.texts == [["a;'b", "\"c\""]])
    }

    @Test func aMalformedRecordEndsAtTheNextLineEnd() {
        let seen = SeenFile("1,\"a\"x,\"b\n\"c\nd,e\n")
        #expect(seen.lines == [1])
        #expect(seen.records.first?.flaw == .textAfterQuote(field: 2))
        #expect(
            seen.records.first.map { String(decoding: $0.bytes, as: UTF8.self) } == "1,\"a\"x,\"b"
        )
        #expect(seen.failure == .unterminatedQuote)
        #expect(seen.failureLine == 2)
    }

    @Test(arguments: ["\"", "a\n\"", "a\n\"b\n", "a\n\"b\"\"", "a\n\"b\"\"\r"])
    func aQuoteOpenAtTheEndNamesTheLineOfItsRecord(text: String) {
        for piece in [Int.max, 1] {
            let seen = SeenFile(text, pieces: [piece])
            #expect(seen.failure == .unterminatedQuote)
            #expect(seen.failureLine == (text.first == "\"" ? 1 : 2))
        }
    }

    @Test func recordsAreFoundAtTheirOffsets() {
        let seen = SeenFile("\u{FEFF}ab,c\r\n\n\"d\ne\"\n\nf")
        #expect(seen.records.map(\.offset) == [3, 10, 17])
        #expect(seen.records.map(\.length) == [4, 5, 1])
        #expect(seen.position?.offset == 18)
    }

    @Test func physicalLinesBeforeTheHeaderAreSkippedQuotesOrNot() throws {
        let reader = RecordReader(
            MemorySource(
                Array("\u{FEFF}report \"of\r\n\nid,name\n1,\"a\nb\"\n2,c".utf8),
                pieces: [1]
            )
        )
        try reader.skipLines(2)
        #expect(try reader.readHeader() == ["id", "name"])
        let seen = SeenFile(reading: reader)
        #expect(seen.lines == [4, 6])
        #expect(seen.texts == [["1", "a\nb"], ["2", "c"]])
    }

    @Test func skippingMoreLinesThanThereAreLeavesNoHeader() throws {
        let reader = RecordReader(MemorySource(Array("a\nb".utf8)))
        try reader.skipLines(9)
        let error = #expect(throws: ReadError.self) { try reader.readHeader() }
        #expect(error?.code == .missingHeader)
    }

    @Test(arguments: ["\"a\"b,c\n1,2\n", "a,\u{1}\n".replacing("\u{1}", with: "\"x\"y")])
    func aMalformedHeaderIsRefused(text: String) {
        let reader = RecordReader(MemorySource(Array(text.utf8)))
        let error = #expect(throws: ReadError.self) { try reader.readHeader() }
        #expect(error?.code == .badHeader)
        #expect(error?.line == 1)
    }

    @Test func aHeaderThatIsNotUTF8IsRefused() {
        let reader = RecordReader(MemorySource([0x61, 0x2C, 0xE9, 0x0A]))
        let error = #expect(throws: ReadError.self) { try reader.readHeader() }
        #expect(error?.code == .badHeader)
        #expect(error?.message.contains("field 2") == true)
    }

    @Test func readingGoesOnFromAPositionAsIfItHadNeverStopped() throws {
        let bytes = Array("h\r\"a\rb\"\rc\r\nd\r".utf8)
        let whole = SeenFile(reading: RecordReader(MemorySource(bytes)))
        let first = RecordReader(MemorySource(bytes))
        for count in 0...whole.records.count {
            let stored = try JSONEncoder().encode(first.position)
            let position = try JSONDecoder().decode(ReadPosition.self, from: stored)
            let rest = SeenFile(reading: RecordReader(MemorySource(bytes), from: position))
            #expect(rest.records == Array(whole.records.dropFirst(count)))
            _ = try first.next()
        }
    }

    @Test(arguments: [
        #"{"offset":-1,"line":1}"#, #"{"offset":0,"line":0}"#,
        #"{"offset":9223372036854775807,"line":1}"#, #"{"offset":0,"line":9223372036854775807}"#,
        #"{"line":1}"#,
    ])
    func aPositionThatNoFileCanHaveIsRefused(stored: String) {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(ReadPosition.self, from: Data(stored.utf8))
        }
    }

    @Test func aRecordThatIsTooLongIsPassedOverWithoutBeingKept() {
        let limits = ReadLimits(record: 100, kept: 10, chunk: 16)
        let long = "\"" + String(repeating: "x\n,\"\"", count: 100) + "\",2"
        for piece in [Int.max, 1, 7] {
            let seen = SeenFile("a,b\n\(long)\n3,4\n", pieces: [piece], limits: limits)
            #expect(seen.lines == [1, 2, 103])
            #expect(seen.records.map(\.length) == [3, 504, 3])
            #expect(seen.records[1].flaw == .tooLong(limit: 100))
            #expect(seen.records[1].bytes.count == 10)
            #expect(seen.records[2].texts == ["3", "4"])
        }
    }

    @Test func aQuoteThatStaysOpenFailsEvenInARecordThatIsTooLong() {
        let limits = ReadLimits(record: 10, kept: 4, chunk: 16)
        let seen = SeenFile("a\n\"" + String(repeating: "b\n", count: 50), limits: limits)
        #expect(seen.failure == .unterminatedQuote)
        #expect(seen.failureLine == 2)
    }

    @Test func aRecordOfTooManyFieldsIsRejectedAndNotKept() {
        let commas = String(repeating: ",", count: RecordScanner.mostFields)
        let seen = SeenFile("a\n\(commas)\n\(commas.dropFirst())\nb")
        #expect(seen.records.map(\.values.count) == [1, 0, RecordScanner.mostFields, 1])
        #expect(seen.records[1].flaw == .tooManyFields(limit: RecordScanner.mostFields))
    }

    @Test func aHugeFieldCostsNoMoreForComingInSmallPieces() throws {
        // Looking again at what was seen would take hours here.
        let bytes =
            Array("\"".utf8) + [UInt8](repeating: 0x61, count: 300_000) + Array("\"\nb".utf8)
        let reader = RecordReader(
            MemorySource(bytes, pieces: [1]),
            limits: ReadLimits(chunk: 1024)
        )
        let first = try reader.next()?.length
        #expect(first == 300_002)
        let second = try reader.next()?.line
        #expect(second == 2)
    }
}
