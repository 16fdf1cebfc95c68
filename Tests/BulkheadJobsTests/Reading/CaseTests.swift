import Testing

@testable import BulkheadJobs

@Suite struct CaseTests {
    @Test(arguments: ["in.csv", "quoted-header.csv"])
    func aByteOrderMarkIsNoPartOfTheFirstName(file: String) throws {
        let loaded = try LoadedFile(CaseFiles.reader("FC-050/\(file)"))
        #expect(loaded.names == ["id", "name"])
        #expect(try loaded.printed == CaseFiles.text("FC-050/expected.txt"))
    }

    @Test func aByteOrderMarkIsNoPartOfTheFirstNumber() throws {
        let loaded = try LoadedFile(
            CaseFiles.reader("FC-050/headerless.csv"),
            columns: ["id", "name"]
        )
        #expect(loaded.printed == "7|'seven'\n8|'eight'\n")
    }

    @Test func aByteOrderMarkInsideAValueIsData() throws {
        let loaded = try LoadedFile(CaseFiles.reader("FC-050/bom-inside.csv"))
        #expect(loaded.rows.first?.last??.utf8.count == 7)
    }

    @Test func lineEndsInsideQuotesAreDataAndAreCounted() throws {
        let loaded = try LoadedFile(CaseFiles.reader("FC-052/in.csv"))
        let index = try #require(loaded.rows.firstIndex { $0.first == "not-a-number" })
        #expect(loaded.rowLines[index] == 7)
        var rest = loaded
        rest.rows.remove(at: index)
        #expect(try rest.printed == CaseFiles.text("FC-052/expected-skip-bad.txt"))
    }

    @Test func aQuoteThatStaysOpenEndsTheFileAndNamesItsLine() throws {
        let reader = try CaseFiles.reader("FC-054/in.csv")
        var seen = SeenFile(reading: reader)
        seen.records.removeFirst()
        #expect(seen.texts == [["1", "one"], ["2", "two"]])
        #expect(seen.failure == .unterminatedQuote)
        #expect(seen.failureLine == 4)
        let again = try CaseFiles.reader("FC-054/in.csv")
        let error = #expect(throws: ReadError.self) { try LoadedFile(again) }
        #expect(error?.message.contains("line 4") == true)
    }

    @Test(arguments: [
        ([""], "expected-default.txt"),
        (["NULL"], "expected-null-marker-NULL.txt"),
    ])
    func onlyUnquotedMarkersAreNull(markers: [String], expected: String) throws {
        let dialect = try TextDialect(nullMarkers: markers.map { Array($0.utf8) })
        let loaded = try LoadedFile(CaseFiles.reader("FC-056/in.csv", dialect: dialect))
        #expect(try loaded.printed == CaseFiles.text("FC-056/\(expected)"))
    }

    @Test func aNULCharacterRejectsItsRecordOnly() throws {
        let loaded = try LoadedFile(CaseFiles.reader("FC-058/in.csv"))
        #expect(try loaded.printed == CaseFiles.text("FC-058/expected-skip-bad.txt"))
        #expect(loaded.rejects.map(\.line) == [3])
        #expect(loaded.rejects.first?.problem.sqlstate == "22021")
        #expect(loaded.rejects.first?.problem.field == 2)
    }

    @Test func aWrongNumberOfFieldsRejectsItsRecordOnly() throws {
        let loaded = try LoadedFile(CaseFiles.reader("FC-060/in.csv"))
        #expect(try loaded.printed == CaseFiles.text("FC-060/expected-skip-bad.txt"))
        #expect(loaded.rejects.map(\.line) == [3, 4])
        #expect(
            loaded.rejects.map(\.problem.message) == [
                "expected 3 fields, found 2", "expected 3 fields, found 4",
            ]
        )
        #expect(loaded.rejects.map(\.raw) == ["2,two", "3,three,Rome,extra"])
    }

    @Test(arguments: ["header-only.csv", "header-no-eol.csv", "blank-lines.csv"])
    func aHeaderAloneLoadsNothing(file: String) throws {
        let loaded = try LoadedFile(CaseFiles.reader("FC-062/\(file)"))
        #expect(loaded.names == ["id", "name"])
        #expect(loaded.rows.isEmpty && loaded.rejects.isEmpty)
    }

    @Test(arguments: ["zero-bytes.csv", "only-bom.csv"])
    func aFileWithoutBytesFailsWhereAHeaderIsExpected(file: String) throws {
        let reader = try CaseFiles.reader("FC-062/\(file)")
        let error = #expect(throws: ReadError.self) { try LoadedFile(reader) }
        #expect(error?.code == .missingHeader)
        #expect(reader.fractionRead == 1)
        let headless = try CaseFiles.reader("FC-062/\(file)")
        #expect(try LoadedFile(headless, columns: ["id", "name"]).rows.isEmpty)
    }

    @Test func theLastRecordNeedsNoLineEnd() throws {
        let loaded = try LoadedFile(CaseFiles.reader("FC-062/last-row-no-eol.csv"))
        #expect(loaded.rows == [["1", "one"], ["2", "two"]])
    }

    @Test func blanksAreNeverTrimmed() throws {
        let loaded = try LoadedFile(CaseFiles.reader("FC-064/spaces.csv"))
        #expect(try loaded.printed == CaseFiles.text("FC-064/expected-spaces.txt"))
    }

    @Test func textAfterAClosingQuoteRejectsItsRecordOnly() throws {
        let loaded = try LoadedFile(CaseFiles.reader("FC-064/after-quote.csv"))
        #expect(loaded.rows == [["2", "two"]])
        #expect(loaded.rejects.map(\.line) == [2])
        #expect(loaded.rejects.first?.problem.sqlstate == "22P04")
        #expect(loaded.rejects.first?.problem.field == 2)
        #expect(loaded.rejects.first?.raw == "1,\"abc\"x")
    }

    @Test func aQuoteAfterABlankIsData() throws {
        let loaded = try LoadedFile(CaseFiles.reader("FC-064/before-quote.csv"))
        #expect(loaded.rows == [["1", " \"abc\""], ["2", "two"]])
    }

    @Test func aWholeGzipFileIsReadToItsEnd() throws {
        let reader = try CaseFiles.reader("FC-075/full.csv.gz")
        #expect(try LoadedFile(reader).rows.count == 300)
        #expect(reader.fractionRead == 1)
    }

    @Test(
        arguments: [
            ("cut-in-data.csv.gz", .truncatedGzip, "ends early"),
            ("cut-trailer.csv.gz", .truncatedGzip, "ends early"),
            ("bad-crc.csv.gz", .checksum, "checksum"),
            ("empty.csv.gz", .emptyGzip, "empty"),
            ("not-gzip.csv.gz", .notGzip, "not a gzip file"),
        ] as [(String, ReadError.Code, String)]
    )
    func aDamagedGzipFileFailsAndSaysHow(
        file: String,
        code: ReadError.Code,
        words: String
    ) throws {
        let error = #expect(throws: ReadError.self) {
            try LoadedFile(CaseFiles.reader("FC-075/\(file)"))
        }
        #expect(error?.code == code)
        #expect(error?.message.contains(words) == true)
        #expect(error?.message.contains(file) == true)
    }
}
