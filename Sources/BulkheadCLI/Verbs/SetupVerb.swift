internal import Bulkhead
internal import Glibc
internal import Migrations

/// Installs, upgrades, checks or removes the service schema.
enum SetupVerb: Verb {
    static let name = "setup"
    static let summary = "Install or upgrade the schema bulkhead in the database"
    static let synopsis = "[--check | --print | --grant ROLE | --remove [--yes]]"
    static let options: [Option] = [
        .flag("--check", "only say whether the schema is current; exit 1 if not"),
        .flag("--print", "print the SQL instead of running it"),
        .value("--grant", "ROLE", "install, and give a role what a daemon needs"),
        .flag("--remove", "remove the schema with all jobs in it; asks first"),
        .flag("--yes", "do not ask"),
    ]
    static let example = "bulkhead setup --database postgresql://localhost/app"

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        guard arguments.operands.isEmpty else {
            throw UsageError("setup takes no \(arguments.operands[0])")
        }
        let chosen = ["--check", "--print", "--grant", "--remove"].filter(arguments.has)
        guard chosen.count < 2 else {
            throw UsageError("give \(chosen.joined(separator: " or ")), not both")
        }
        if arguments.has("--yes"), !arguments.has("--remove") {
            throw UsageError("--yes goes with --remove")
        }
        if arguments.has("--print") {
            try terminal.result(Installation.script)
            return .done
        }
        return try await Database.use(arguments) { connection in
            let installation = Installation(connection)
            if arguments.has("--check") { return try check(installation, terminal) }
            if arguments.has("--remove") { return try remove(installation, arguments, terminal) }
            return try await install(installation, arguments, terminal)
        }
    }

    private static func install(
        _ installation: Installation,
        _ arguments: Arguments,
        _ terminal: Terminal
    ) async throws -> ExitStatus {
        let installed = try await installation.install { await pause($0) }
        for version in installed {
            terminal.note("installed version \(version.number), \(version.name)")
        }
        if let role = arguments.text("--grant") {
            try installation.grant(to: role)
            terminal.note("\(role) may run a daemon")
        }
        let version = try installation.installedVersion()
        try terminal.result(
            terminal.printsJSON
                ? "{\"version\":\(version),\"installed\":\(installed.map(\.number))}"
                : "the schema bulkhead has version \(version)"
        )
        return .done
    }

    static func pause(_ duration: Duration) async {
        do {
            try await Task.sleep(for: duration)
        } catch {
            return
        }
    }

    private static func check(_ installation: Installation, _ terminal: Terminal) throws
        -> ExitStatus
    {
        let installed = try installation.installedVersion()
        let newest = Schema.versions.count
        if terminal.printsJSON {
            try terminal.result("{\"version\":\(installed),\"newest\":\(newest)}")
        }
        do {
            try installation.requireCurrent()
        } catch {
            Terminal.error("\(error)")
            return .failed
        }
        if !terminal.printsJSON {
            try terminal.result("the schema bulkhead is current (version \(installed))")
        }
        return .done
    }

    private static func remove(
        _ installation: Installation,
        _ arguments: Arguments,
        _ terminal: Terminal
    ) throws -> ExitStatus {
        guard try installation.installedVersion() > 0 else { throw InstallationError.missing }
        if !arguments.has("--yes") {
            guard isatty(0) == 1 else {
                throw UsageError("--remove asks first, and nobody is there to answer: add --yes")
            }
            Terminal.ask(
                "This removes the schema bulkhead with all jobs, errors and rejects in it. "
                    + "Type yes to go on: "
            )
            guard readLine() == "yes" else {
                terminal.note("nothing was removed")
                return .failed
            }
        }
        try installation.remove()
        try terminal.result(
            terminal.printsJSON ? "{\"removed\":true}" : "the schema bulkhead is removed"
        )
        return .done
    }
}
