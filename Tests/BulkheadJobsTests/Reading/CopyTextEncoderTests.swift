import Testing

@testable import BulkheadJobs

@Suite struct CopyTextEncoderTests {
    private func encode(
        _ bytes: [UInt8],
        columns: [Int],
        fieldCount: Int,
        dialect: TextDialect = .csv
    ) throws -> (String, RecordProblem?) {
        let encoder = CopyTextEncoder(dialect: dialect, columns: columns, fieldCount: fieldCount)
        let reader = RecordReader(MemorySource(bytes), dialect: dialect)
        var output = Array("7\t".utf8)
        let next = try reader.next()
        guard let record = next else { return ("", nil) }
        let problem = encoder.encode(record, into: &output)
        return (String(decoding: output, as: UTF8.self), problem)
    }

    private func encode(_ text: String, dialect: TextDialect = .csv) throws -> String {
        try encode(Array(text.utf8), columns: [0], fieldCount: 1, dialect: dialect).0
    }

    @Test(arguments: [
        ("a", "a"), ("\"\"", ""), ("\"a\"\"b\"", "a\"b"), ("\\", "\\\\"), ("\\N", "\\\\N"),
        ("\\.", "\\\\."), ("a\tb", "a\\tb"), ("\"a\nb\"", "a\\nb"), ("\"a\r\nb\"", "a\\r\\nb"),
        ("\u{8}\u{B}\u{C}", "\\b\\v\\f"), ("\u{1}\u{7F}", "\u{1}\u{7F}"),
        ("żółć 漢字 🙂", "żółć 漢字 🙂"),
        ("\"\t\"\"\\\"", "\\t\"\\\\"), (" a ", " a "),
    ])
    func aValueIsEscapedAsCOPYWantsIt(text: String, expected: String) throws {
        #expect(try encode(text) == "7\t\(expected)\n")
    }

    @Test func onlyTheMappedFieldsAreWrittenInTheirOrder() throws {
        let (line, problem) = try encode(
            Array("a,\"b,c\",,d".utf8),
            columns: [3, 2, 1],
            fieldCount: 4
        )
        #expect(line == "7\td\t\\N\tb,c\n")
        #expect(problem == nil)
    }

    @Test(arguments: [
        ([""], ["\\N", "", "NULL", "\\\\N"]),
        (["NULL"], ["", "", "\\N", "\\\\N"]),
        (["", "\\N"], ["\\N", "", "NULL", "\\N"]),
        ([], ["", "", "NULL", "\\\\N"]),
    ])
    func markersMeanNullOnlyUnquoted(markers: [String], expected: [String]) throws {
        let dialect = try TextDialect(nullMarkers: markers.map { Array($0.utf8) })
        let fields = [",", "\"\",", "NULL,", "\\N,"]
        for (field, value) in zip(fields, expected) {
            let (line, _) = try encode(
                Array(field.utf8),
                columns: [0],
                fieldCount: 2,
                dialect: dialect
            )
            #expect(line == "7\t\(value)\n")
        }
        #expect(try encode("\"NULL\"", dialect: dialect) == "7\tNULL\n")
    }

    @Test func anEscapeCharacterIsTakenOutBeforeWhatItEscapes() throws {
        let dialect = try TextDialect(escape: UInt8(ascii: "\\"))
        #expect(try encode(#""a\"b\\c\d""#, dialect: dialect) == "7\ta\"b\\\\c\\\\d\n")
        let tilde = try TextDialect(escape: UInt8(ascii: "~"))
        #expect(try encode(#""a~"b~~c~d""#, dialect: tilde) == "7\ta\"b~c~d\n")
    }

    @Test(arguments: [
        ("a\u{0},b", 2, RecordProblem.nulByte(field: 1, offset: 1)),
        ("a,b\u{0}", 2, RecordProblem.nulByte(field: 2, offset: 3)),
        ("a", 2, RecordProblem.fieldCount(1, expected: 2)),
        ("a,b", 1, RecordProblem.fieldCount(2, expected: 1)),
        ("a,\"b\"c", 2, RecordProblem(.textAfterQuote(field: 2))),
    ])
    func aBadRecordLeavesTheOutputUntouched(
        text: String,
        fieldCount: Int,
        problem: RecordProblem
    ) throws {
        let (line, found) = try encode(Array(text.utf8), columns: [0], fieldCount: fieldCount)
        #expect(line == "7\t")
        #expect(found == problem)
    }

    @Test(
        arguments: [
            ([0xFF], 1, 0, "encoding"), ([0x61, 0x2C, 0xC3], 2, 2, "0xc3"),
            ([0x61, 0x2C, 0xC3, 0x2C], 2, 2, "0xc3"), ([0xC0, 0x80], 1, 0, "0xc0"),
            ([0x61, 0x2C, 0x22, 0x62, 0xED, 0xA0, 0x80, 0x22], 2, 4, "0xed"),
            ([0x61, 0x62, 0xF4, 0x90, 0x80, 0x80], 1, 2, "0xf4"),
            ([0x80, 0x2C, 0x61], 1, 0, "0x80"),
        ] as [([UInt8], Int, Int, String)]
    )
    func bytesThatAreNotUTF8RejectTheRecord(
        bytes: [UInt8],
        field: Int,
        offset: Int,
        hex: String
    ) throws {
        let count = bytes.split(separator: 0x2C, omittingEmptySubsequences: false).count
        // Another field than the one that is loaded spoils the record as well.
        let (line, problem) = try encode(bytes, columns: [0], fieldCount: count)
        #expect(line == "7\t")
        #expect(problem?.sqlstate == "22021")
        #expect(problem?.field == field)
        #expect(problem?.message.contains("\(hex) at offset \(offset) of the record") == true)
    }

    @Test func everyByteIsSurveyedWhereverItStands() {
        for byte in UInt8.min...UInt8.max {
            for place in 0..<19 {
                var bytes = [UInt8](repeating: 0x61, count: 19)
                bytes[place] = byte
                let survey = ByteSurvey(bytes.span)
                #expect(survey.holdsNUL == (byte == 0))
                #expect(survey.holdsNonASCII == (byte >= 0x80))
                if byte < 0x80 {
                    #expect(survey.holdsSpecial == (byte < 0x20 || byte == 0x5C))
                }
            }
        }
    }
}
