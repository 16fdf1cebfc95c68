import BulkheadTesting
import Foundation
import Postgres
import Testing

@testable import BulkheadJobs

/// The file between two attempts, and the door of the import root.
@Suite struct ImportFileTests {
    static let person =
        "create schema hc;" + ImportBench.gate(at: 21) + """
            create table hc.person (
                id int primary key, name text, gate int not null default hc.gate());
            """

    enum Change: String, CaseIterable, Sendable {
        case none, edited, shorter, appended, replacedByRename, sameSizeAndTime, touched
    }

    @Test(arguments: Change.allCases)
    func aFileThatChangedBetweenAttemptsIsNeverMixed(change: Change) async throws {
        try await ImportBench.with(Self.person) { bench in
            try bench.copyCase("FC-073/v1.csv", as: "in.csv")
            let path = bench.folder.path("in.csv")
            let job = try await bench.enqueue("hc.person", files: ["in.csv"], "batch => 10")
            try await bench.runToGate(job, batches: 2)
            switch change {
            case .none: break
            case .edited: try bench.copyCase("FC-073/v2-edited.csv", as: "in.csv")
            case .shorter: try bench.copyCase("FC-073/v2-shorter.csv", as: "in.csv")
            case .appended: try bench.copyCase("FC-073/v2-appended.csv", as: "in.csv")
            case .replacedByRename:
                try bench.copyCase("FC-073/v1.csv", as: "new.csv")
                #expect(rename(bench.folder.path("new.csv"), path) == 0)
            case .sameSizeAndTime:
                var status = stat()
                #expect(stat(path, &status) == 0)
                let handle = try #require(FileHandle(forUpdatingAtPath: path))
                try handle.seekToEnd()
                try handle.seek(toOffset: handle.offsetInFile - 3)
                try handle.write(contentsOf: Data("Z".utf8))
                try handle.close()
                let times = [status.st_atim, status.st_mtim]
                #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
            case .touched:
                #expect(utimensat(AT_FDCWD, path, nil, 0) == 0)
            }
            try await bench.drain()
            let ended = try await bench.outcome(of: job)
            if change == .none {
                #expect(ended.state == "completed", "\(ended.error ?? "")")
                #expect(ended.totals.inserted == 40)
                return
            }
            #expect(ended.state == "discarded")
            #expect(ended.error?.contains("changed or replaced") == true, "\(ended.error ?? "")")
            #expect(try await bench.value("select count(*) from hc.person") == "20")
            #expect(
                try await bench.value("select count(*) from hc.person where name <> 'v' || id")
                    == "0"
            )
        }
    }

    @Test func aFileThatGrowsWhileItIsReadIsRefused() async throws {
        try await ImportBench.with(Self.person) { bench in
            try bench.copyCase("FC-073/v1.csv", as: "in.csv")
            let job = try await bench.enqueue("hc.person", files: ["in.csv"], "batch => 10")
            let keeper = try await bench.database.session()
            _ = try await keeper.value("select pg_advisory_lock(4711)")
            let daemon = try await bench.startDaemon()
            try await bench.database.waitUntil("select batches = 2 from bulkhead.job")
            let handle = try #require(FileHandle(forUpdatingAtPath: bench.folder.path("in.csv")))
            try handle.seekToEnd()
            try handle.write(contentsOf: Data("99,late\n".utf8))
            try handle.close()
            await keeper.close()
            try await bench.database.waitUntil("select state = 'discarded' from bulkhead.job")
            try await daemon.stop()
            let ended = try await bench.outcome(of: job)
            #expect(ended.totals.read <= 40)
            #expect(
                try await bench.value("select count(*) from hc.person")
                    == "\(ended.totals.inserted)"
            )
            #expect(try await bench.value("select count(*) from hc.person where id = 99") == "0")
        }
    }

    /// The checkpoint counts unpacked bytes.
    @Test(arguments: ["error", "skip"])
    func aCompressedFileGoesOnWhereItStopped(policy: String) async throws {
        try await ImportBench.with(
            Self.person.replacing(">= 21", with: "= 121")
        ) { bench in
            try bench.copyCase("FC-075/full.csv.gz", as: "in.csv.gz")
            let job = try await bench.enqueue(
                "hc.person",
                files: ["in.csv.gz"],
                "batch => 40, on_conflict => '\(policy)'"
            )
            try await bench.runToGate(job, batches: 3)
            #expect(try await bench.value("select rows_done from bulkhead.job") == "120")
            try await bench.drain()
            let ended = try await bench.outcome(of: job)
            #expect(ended.totals == ImportTotals(read: 300, inserted: 300), "\(ended.error ?? "")")
            #expect(try ended.ids.count == 300)
        }
    }

    // MARK: The import root

    private func makeTrap(_ bench: ImportBench) throws -> TemporaryDirectory {
        let outside = try TemporaryDirectory()
        try outside.write("id,name\n1,SECRET-OUTSIDE\n", to: "secret.csv")
        try bench.folder.makeDirectory("sub")
        try bench.folder.write("id,name\n1,inside\n", to: "ok.csv")
        try bench.folder.link("link.csv", to: outside.path("secret.csv"))
        try bench.folder.link("linkdir", to: outside.path)
        try bench.folder.link("loop-a", to: "loop-b")
        try bench.folder.link("loop-b", to: "loop-a")
        return outside
    }

    private func expectNoSecret(_ bench: ImportBench) async throws {
        let leaks = try await bench.value(
            """
            select count(*) from (
                select t::text from hc.person t union all select j::text from bulkhead.job j
                union all select e::text from bulkhead.job_error e
                union all select r::text || encode(r.raw, 'escape') from bulkhead.reject r
                union all select c::text from bulkhead.change c) all_text (text)
            where text like '%SECRET-OUTSIDE%'
            """
        )
        #expect(leaks == "0")
        #expect(!bench.log.lines.contains { $0.contains("SECRET-OUTSIDE") })
    }

    @Test func namesThatLeadOutsideReadNothingAndTellNothing() async throws {
        try await ImportBench.with(
            "create schema hc; create table hc.person (id int primary key, name text);"
        ) {
            bench in
            let outside = try makeTrap(bench)
            let listed = try CaseFiles.text("FC-080/names.txt").split(
                separator: "\n",
                omittingEmptySubsequences: false
            )
            .dropLast().map(String.init)
            let names =
                listed + [
                    outside.path("secret.csv"), outside.path("absent.csv"),
                    "\(bench.folder.path)-other/x.csv",
                    "linkdir/absent.csv",
                    "\(bench.folder.path)/../\(outside.path.split(separator: "/").last ?? "")/secret.csv",
                ]
            var jobs: [(name: String, id: Int64)] = []
            for name in names {
                let args =
                    "{\"table_name\": \"hc.person\", \"on_conflict\": \"skip\", \"files\": [\"\(name)\"]}"
                let call: SQL = "select bulkhead.enqueue('import', \(args)::jsonb)"
                if name.contains("\\u0000") {
                    // The server's jsonb takes no NUL, so no such name ever gets to a daemon.
                    await #expect(throws: PostgresError.self) {
                        try await bench.database.value(call)
                    }
                    continue
                }
                jobs.append((name, Int64(try await bench.database.value(call) ?? "") ?? 0))
            }
            try await bench.drain()
            var reasons: [String: String] = [:]
            for (name, id) in jobs {
                let job = try await bench.outcome(of: id)
                let isInside = name == "ok.csv" || name == "sub/../ok.csv"
                #expect(job.state == (isInside ? "completed" : "discarded"), "\(name)")
                #expect(job.attempt == 1)
                reasons[name] = job.error?.replacing(name, with: "NAME")
            }
            #expect(try await bench.rows("select * from hc.person") == [["1", "inside"]])
            // Whether a file outside exists cannot be told from the reason.
            #expect(reasons[outside.path("secret.csv")] == reasons[outside.path("absent.csv")])
            #expect(reasons["linkdir/secret.csv"] == reasons["linkdir/absent.csv"])
            try await expectNoSecret(bench)
        }
    }

    @Test func aFileThatIsSwappedForALinkIsNeverFollowed() async throws {
        try await ImportBench.with("create schema hc; create table hc.person (id int, name text);")
        { bench in
            let outside = try makeTrap(bench)
            for number in 1...40 {
                _ = try await bench.enqueue(
                    "hc.person",
                    files: ["ok.csv"],
                    "tags => array['\(number)']"
                )
            }
            let swapper = Swapper(in: bench.folder.path, target: outside.path("secret.csv"))
            try await bench.drain()
            swapper.stop()
            #expect(
                try await bench.value(
                    "select count(*) from bulkhead.job where state in ('completed', 'discarded')"
                ) == "40"
            )
            try await expectNoSecret(bench)
        }
    }
}

/// Puts a link and a file in the place of `ok.csv` in turn, by renames, until it is told to stop.
private final class Swapper: Sendable {
    private let goesOn = Lock(true)

    init(in folder: String, target: String) {
        Thread.detachNewThread { [goesOn] in
            while goesOn.withLock({ $0 }) {
                symlink(target, "\(folder)/next")
                rename("\(folder)/next", "\(folder)/ok.csv")
                let descriptor = open("\(folder)/next", O_CREAT | O_WRONLY | O_TRUNC, 0o600)
                write(descriptor, "id,name\n1,inside\n", 17)
                close(descriptor)
                rename("\(folder)/next", "\(folder)/ok.csv")
            }
        }
    }

    func stop() { goesOn.withLock { $0 = false } }
}
