import Testing

@testable import BulkheadJobs

@Suite struct TextDialectTests {
    @Test func theUsualDialectsAreCommaAndTab() throws {
        #expect(try TextDialect.csv == TextDialect())
        #expect(try TextDialect.tsv == TextDialect(delimiter: 0x09))
    }

    @Test func anEscapeThatIsTheQuoteIsTheDoubledQuote() throws {
        #expect(try TextDialect(escape: 0x22).escape == nil)
    }

    @Test(
        arguments: [
            (0x22, 0x22, nil), (0x0A, 0x22, nil), (0x0D, 0x22, nil), (0, 0x22, nil),
            (0xE9, 0x22, nil),
            (0x2C, 0x0A, nil), (0x2C, 0x80, nil), (0x2C, 0x22, 0x0D), (0x2C, 0x22, 0x2C),
            (0x2C, 0x22, 0), (0x2C, 0x22, 0xFF),
        ] as [(UInt8, UInt8, UInt8?)]
    )
    func bytesThatContradictEachOtherAreRefused(
        delimiter: UInt8,
        quote: UInt8,
        escape: UInt8?
    ) {
        #expect(throws: DialectError.self) {
            try TextDialect(delimiter: delimiter, quote: quote, escape: escape)
        }
    }

    @Test(arguments: ["a,b", "a\nb", "\"NULL\""])
    func aMarkerThatNoFieldCanEqualIsRefused(marker: String) {
        let error = #expect(throws: DialectError.self) {
            try TextDialect(nullMarkers: [Array(marker.utf8)])
        }
        #expect(error?.message.contains("\n") == false)
    }
}
