import Testing

@testable import BulkheadCLI

@Suite struct FiguresTests {
    @Test(arguments: [
        (0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567"), (-1000, "-1,000"),
        (-999, "-999"), (Int64.max, "9,223,372,036,854,775,807"),
        (Int64.min, "-9,223,372,036,854,775,808"),
    ])
    func thousandsAreSetApart(number: Int64, text: String) {
        #expect(grouped(number) == text)
    }

    @Test(arguments: [
        (0.0, "0.0 s"), (0.04, "0.0 s"), (12.34, "12.3 s"), (59.94, "59.9 s"), (59.96, "1m 00s"),
        (60, "1m 00s"), (187, "3m 07s"), (3599.9, "59m 59s"), (3600, "1h 00m"), (7500, "2h 05m"),
        (360_000, "100h 00m"),
    ])
    func durationsShowTheUnitsThatMatter(seconds: Double, text: String) {
        #expect(Duration.seconds(seconds).shown == text)
    }

    @Test func aDurationThatMakesNoSenseIsNotShown() {
        #expect(Duration.seconds(-1).shown == "?")
        #expect(Duration.seconds(1e10).shown == "?")
    }

    @Test(arguments: [
        (0.0, "[..............................] text"),
        (50, "[###############...............] text"),
        (100, "[##############################] text"),
        (250, "[##############################] text"),
        (-5, "[..............................] text"),
    ])
    func theBarFillsWithThePercentage(percent: Double, bar: String) {
        #expect(ProgressLine.bar("text", percent: percent, in: 80) == bar)
    }

    @Test func aLineNeverWraps() {
        let text = String(repeating: "x", count: 100)
        for columns in [21, 40, 80, 99, 104, 112, 200] {
            #expect(ProgressLine.bar(text, percent: 50, in: columns).count < columns)
            #expect(ProgressLine.bar(text, percent: nil, in: columns).count < columns)
        }
        #expect(ProgressLine.bar("text", percent: nil, in: 80) == "text")
    }

    @Test(arguments: [
        ("postgresql://me:geheim@host/db", "postgresql://me:****@host/db"),
        ("at postgresql://me:a@b:c@host/db now", "at postgresql://me:****@host/db now"),
        (
            "postgresql://host/db?password=geheim&user=me",
            "postgresql://host/db?password=****&user=me"
        ),
        ("host=h password=geheim", "host=h password=****"),
        ("postgresql://host/db", "postgresql://host/db"),
        ("a@b: c", "a@b: c"),
    ])
    func passwordsOfAddressesAreHidden(text: String, shown: String) {
        #expect(Terminal.withoutPasswords(text) == shown)
    }

    @Test func paddingLeavesAtLeastOneBlank() {
        #expect("ab".padded(to: 4) == "ab  ")
        #expect("abcd".padded(to: 4) == "abcd ")
    }
}
