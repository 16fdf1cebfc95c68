import Testing

@testable import BulkheadCLI

@Suite struct HelpTests {
    @Test func theProgramsHelpListsTheVerbs() throws {
        try Snapshot.expect(Main.help + "\n", is: "help")
    }

    @Test func eachVerbHasItsHelp() throws {
        for verb in Main.verbs {
            let help = verb.help
            try Snapshot.expect(help, is: verb.name)
            for line in help.split(separator: "\n") { #expect(line.count <= 120) }
        }
    }

    /// What the help shows can be typed.
    @Test func examplesUseOptionsThatThereAre() throws {
        for verb in Main.verbs {
            let words = verb.example.split(separator: " ").dropFirst(2).map(String.init)
            let command = Array(words.prefix { $0 != "&&" && $0 != "|" })
            _ = try Arguments(command, options: verb.options + Option.common)
        }
    }

    @Test func noVerbHasAnOptionTwice() {
        for verb in Main.verbs {
            let names = (verb.options + Option.common).map(\.name)
            #expect(Set(names).count == names.count)
        }
    }
}
