import BulkheadTesting
import Foundation
import Postgres
import Testing

/// The daemon as a process: signals, descriptors, hosts, and what others can see of it.
@Suite struct WorkerTests {
    /// A job that stands in its first batch until the advisory lock 4711 is free.
    private static let held = """
        create function gate() returns int language plpgsql as $$
        begin perform pg_advisory_xact_lock_shared(4711); return 0; end $$;
        create table t (id int primary key, gate int default gate())
        """
    private static let isHeld: SQL = """
        select exists (
            select from pg_locks l join pg_database d on d.oid = l.database
            where d.datname = current_database() and locktype = 'advisory' and objid = 4711 and not granted)
        """

    @Test func aSecondSignalEndsTheDaemonAtOnceAndAHangupDoesNothing() async throws {
        try await Workplace.with { place in
            try await place.database.run(Self.held)
            try place.write("id\n1\n", to: "f.csv")
            _ = try await place.program.run("import", "t", "f.csv")
            let keeper = try await place.database.session()
            _ = try await keeper.value("select pg_advisory_lock(4711)")
            let worker = try place.program.start("worker", "--grace", "600", "--lease", "2")
            try await place.database.waitUntil(Self.isHeld)
            worker.send(SIGHUP)
            worker.send(SIGTERM)
            try await worker.waitForErrors { $0.contains("stopping") }
            worker.send(SIGTERM)
            #expect(await worker.end() == 1)
            await keeper.close()
            let next = try await place.drain()
            #expect(next.status == 0)
            #expect(try await place.database.value("select count(*) from t") == "1")
        }
    }

    @Test func aDaemonWithoutAnyoneToReadItsLogGoesOn() async throws {
        try await Workplace.with { place in
            try await place.database.run("create table t (id int)")
            try place.write("id\n1\n", to: "f.csv")
            for redirection in [
                // Closed: the numbers must not become those of connections.
                "2>&-", "0<&- 1>&- 2>&-", "2>/dev/full",
                // A pipe that is full, and one that nobody holds any more.
                "2>full", "2> >(true)",
            ] {
                _ = try await place.program.run("import", "t", "f.csv")
                let result = try await place.program.shell(
                    """
                    rm -f full; mkfifo full; exec 3<>full; head -c 65536 /dev/zero >&3
                    "$BULKHEAD" worker --drain --log-level debug \(redirection)
                    echo "status $?"
                    """
                )
                #expect(result.output == "status 0\n", "\(redirection): \(result.errors)")
            }
            #expect(try await place.database.value("select count(*) from t") == "5")
        }
    }

    /// Else the next thing that is opened, a connection for instance, gets the log.
    @Test func descriptorsThatTheCallerClosedLeadNowhere() async throws {
        try await Workplace.with { place in
            let shell = try place.program.startShell(
                "exec \"$BULKHEAD\" worker 0<&- 1>&- 2>&-"
            )
            try await place.database.waitUntil("select exists (select from bulkhead.daemon)")
            for descriptor in 0...2 {
                let target = try FileManager.default.destinationOfSymbolicLink(
                    atPath: "/proc/\(shell.pid)/fd/\(descriptor)"
                )
                #expect(target == "/dev/null", "\(descriptor)")
            }
            shell.send(SIGTERM)
            #expect(await shell.end() == 0)
        }
    }

    @Test func everyLineOfAJSONLogIsADocument() async throws {
        try await Workplace.with { place in
            try await place.database.run("create table t (id int)")
            try place.write("id\n\"x\ny\"\n", to: "f \"quoted\".csv")
            _ = try await place.program.run("import", "t", "f \"quoted\".csv")
            let result = try await place.drain("--log-format", "json", "--log-level", "debug")
            let lines = result.errors.split(separator: "\n")
            #expect(lines.count > 2)
            for line in lines {
                let keys = try place.keys(of: String(line))
                #expect(keys.isSuperset(of: ["time", "level", "message"]), "\(line)")
            }
        }
    }

    @Test(arguments: ["socket", "@abstract"])
    func theServiceManagerHearsThatTheDaemonIsReady(name: String) async throws {
        try await Workplace.with { place in
            var place = place
            let path =
                name.hasPrefix("@")
                ? "@bulkhead-\(UUID().uuidString)" : place.folder.appending(path: name).path()
            let socket = try NotifySocket(path)
            place.program.environment["NOTIFY_SOCKET"] = path
            let worker = try place.program.start("worker")
            #expect(await socket.receive() == "READY=1")
            worker.send(SIGTERM)
            #expect(await worker.end() == 0)
        }
    }

    @Test(arguments: ["geheim", "ge%40he%3Aim"])
    func thePasswordIsWrittenOverInTheListOfProcesses(password: String) async throws {
        try await Workplace.with { place in
            let url = place.database.url.replacing("@", with: ":\(password)@")
            let worker = try place.program.start("worker", "--database", url)
            try await worker.waitForErrors { $0.contains("ready") }
            let line = try String(contentsOfFile: "/proc/\(worker.pid)/cmdline", encoding: .utf8)
            #expect(line.contains("worker"))
            #expect(!line.contains(password), "\(line)")
            #expect(!line.contains("he%3Aim"))
            worker.send(SIGTERM)
            #expect(await worker.end() == 0)
            #expect(try !worker.errors().contains(password))
        }
    }

    @Test func aJobOfAnotherHostIsLeftUnlessAnyHostMayRunIt() async throws {
        try await Workplace.with { place in
            try await place.database.run("create table t (id int)")
            try place.write("id\n1\n", to: "f.csv")
            _ = try await place.program.run("import", "t", "f.csv")
            _ = try await place.program.run("import", "t", "f.csv", "--any-host")
            let elsewhere = try await place.drain("--host", "elsewhere")
            #expect(elsewhere.status == 0)
            #expect(
                try await place.database.rows("select state from bulkhead.job order by id")
                    == [["available"], ["completed"]]
            )
            #expect(try await place.drain().status == 0)
            #expect(try await place.database.value("select count(*) from t") == "2")
        }
    }

    @Test func aDaemonIsStoppedAtOnceWhenIdle() async throws {
        try await Workplace.with { place in
            for signal in [SIGTERM, SIGINT] {
                let worker = try place.program.start("worker")
                try await worker.waitForErrors { $0.contains("ready") }
                worker.send(signal)
                #expect(await worker.end() == 0)
                #expect(try worker.output() == "")
            }
            #expect(try await place.database.value("select count(*) from bulkhead.daemon") == "0")
        }
    }
}
