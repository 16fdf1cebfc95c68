internal import Bulkhead
internal import Glibc
internal import Postgres
internal import Signals

/// The program `bulkhead`.
@main
struct Main {
    static let verbs: [any Verb.Type] = [
        SetupVerb.self, WorkerVerb.self, DevVerb.self, ImportVerb.self, PurgeVerb.self,
        RestoreVerb.self, MigrateVerb.self, ModelVerb.self, EnqueueVerb.self,
        JobsVerb.self,
        ShowVerb.self, WaitVerb.self, CancelVerb.self, PauseVerb.self, ResumeVerb.self,
        RetryVerb.self, LimitVerb.self, RejectsVerb.self, QueuesVerb.self, QueueVerb.self,
        DaemonsVerb.self,
        WatchVerb.self,
    ]

    /// Not async: the runtime would open descriptors of its own before the first line.
    static func main() {
        Terminal.occupyStandardDescriptors()
        SignalWatch.unblock()
        // A reader that goes away is an error of write, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        Allocator.keepSmall()
        let words = Array(CommandLine.arguments.dropFirst())
        // Detached: this thread runs nothing any more.
        Task.detached { exit(await run(words).rawValue) }
        while true { pause() }
    }

    static func run(_ words: [String]) async -> ExitStatus {
        do {
            return try await dispatch(words)
        } catch let error as UsageError {
            let verb = words.first.flatMap { name in verbs.first { $0.name == name } }
            Terminal.error("\(error); see `bulkhead \(verb.map { "\($0.name) " } ?? "")--help`")
            return .usage
        } catch let error as OutputError where error.isClosedPipe {
            return .done
        } catch let error as NoDatabase {
            Terminal.error("\(error)")
            return .noDatabase
        } catch let error as InstallationError {
            Terminal.error("\(error)")
            return .noDatabase
        } catch {
            Terminal.error("\(error)")
            return .failed
        }
    }

    private static func dispatch(_ words: [String]) async throws -> ExitStatus {
        guard let name = words.first else { throw UsageError("a verb is missing") }
        switch name {
        case "--version":
            try Terminal().result("bulkhead \(Release.version)")
            return .done
        case "--help", "help":
            try Terminal().result(help)
            return .done
        default: break
        }
        guard let verb = verbs.first(where: { $0.name == name }) else {
            throw UsageError("unknown verb \(name)")
        }
        let rest = Array(words.dropFirst())
        let arguments = try Arguments(rest, options: verb.options + Option.common)
        if arguments.has("--help") {
            try Terminal().result(verb.help)
            return .done
        }
        if arguments.has("--version") {
            try Terminal().result("bulkhead \(Release.version)")
            return .done
        }
        let terminal = Terminal(
            isQuiet: arguments.has("--quiet"),
            printsJSON: arguments.has("--json")
        )
        return try await verb.run(arguments, terminal)
    }

    static var help: String {
        var text = """
            Bulkhead moves bulk data inside a live PostgreSQL, as jobs that a daemon works off.

            usage: bulkhead VERB ...


            """
        for verb in verbs { text += "  \(verb.name.padded(to: 10))\(verb.summary)\n" }
        return text + "\n`bulkhead VERB --help` tells more, with an example.\n"
            + "Exit status: 0 done, 1 failed, 2 wrong usage, 3 no database or no schema, 130 interrupted."
    }
}
