import Testing

@testable import BulkheadCLI

@Suite struct ArgumentsTests {
    private static let options: [Option] = [
        .flag("--wait", ""), .value("--batch", "N", ""), .value("--tag", "T", "", repeats: true),
        .value("--columns", "A,B", ""), .value("--null", "TEXT", "", repeats: true),
    ]

    private func parsed(_ words: String...) throws -> Arguments {
        try Arguments(words, options: Self.options)
    }

    @Test func optionsStandAnywhereAndOperandsKeepTheirOrder() throws {
        let arguments = try parsed("t", "--wait", "a", "--batch", "5", "b")
        #expect(arguments.operands == ["t", "a", "b"])
        #expect(arguments.has("--wait"))
        #expect(try arguments.number("--batch", in: 1...10) == 5)
    }

    @Test func aValueMayStandBehindAnEqualsSignAndHoldOthers() throws {
        let arguments = try parsed("--tag=a=b", "--tag", "--wait", "--null=", "--null", "-")
        #expect(arguments.texts("--tag") == ["a=b", "--wait"])
        #expect(arguments.texts("--null") == ["", "-"])
        #expect(!arguments.has("--wait"))
    }

    @Test func everythingBehindTwoDashesIsAnOperand() throws {
        let arguments = try parsed("t", "--", "--wait", "-rf", "--")
        #expect(arguments.operands == ["t", "--wait", "-rf", "--"])
        #expect(!arguments.has("--wait"))
    }

    @Test func oneDashAloneIsAnOperand() throws {
        #expect(try parsed("-").operands == ["-"])
    }

    @Test(arguments: [
        (["--bach", "5"], "unknown option --bach"), (["-x"], "unknown option -x"),
        (["--bach=secret"], "unknown option --bach"), (["--batch"], "--batch needs a value"),
        (["--wait=yes"], "--wait takes no value"),
        (["--batch", "1", "--batch", "2"], "--batch is given twice"),
        (["--wait", "--wait"], "--wait is given twice"),
    ])
    func wrongWordsAreNamed(words: [String], says: String) {
        let error = #expect(throws: UsageError.self) {
            try Arguments(words, options: Self.options)
        }
        #expect(error?.description == says)
    }

    @Test(arguments: ["0", "11", "1.5", "x", "", "99999999999999999999", "-1", " 5"])
    func aNumberOutOfBoundsIsRefused(text: String) throws {
        let arguments = try parsed("--batch=\(text)")
        #expect(throws: UsageError.self) { try arguments.number("--batch", in: 1...10) }
    }

    @Test(arguments: ["-1", "nan", "inf", "x", "86401"])
    func secondsOutOfBoundsAreRefused(text: String) throws {
        let arguments = try parsed("--batch=\(text)")
        #expect(throws: UsageError.self) { try arguments.seconds("--batch") }
        #expect(try parsed("--batch=0.5").seconds("--batch") == .milliseconds(500))
    }

    @Test(arguments: ["a,,b", ",a", "a,", ""])
    func aListWithAnEmptyNameIsRefused(text: String) throws {
        let arguments = try parsed("--columns=\(text)")
        #expect(throws: UsageError.self) { try arguments.list("--columns") }
        #expect(try parsed("--columns", "a, b").list("--columns") == ["a", " b"])
    }

    @Test(arguments: ["0", "-3", "x", "1.0", "99999999999999999999", ""])
    func whatIsNoIdIsRefused(word: String) throws {
        let arguments = try Arguments(["--", word], options: [])
        #expect(throws: UsageError.self) { try arguments.jobs() }
    }

    @Test func anIdMustBeThere() throws {
        #expect(throws: UsageError.self) { try parsed().jobs() }
        #expect(try parsed("7", "8").jobs() == [7, 8])
    }

    @Test func aChoiceIsOneOfItsWords() throws {
        enum Size: String, CaseIterable { case small, large }
        #expect(try parsed("--batch=small").choice("--batch", of: Size.self) == .small)
        let error = #expect(throws: UsageError.self) {
            try parsed("--batch=huge").choice("--batch", of: Size.self)
        }
        #expect(error?.description == "--batch is one of small, large, not huge")
    }
}
