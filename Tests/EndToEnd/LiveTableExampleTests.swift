import BulkheadTesting
import Foundation
import Postgres
import Testing

/// The example of a table that shows what changes, as its package builds it.
@Suite struct LiveTableExampleTests {
    private static let table = """
        create table t (id int primary key, n int); select bulkhead.track('t');
        insert into t values (1, 10), (2, 20), (3, 30)
        """

    private func start(_ place: Workplace, _ arguments: [String]) throws -> Running {
        let executable = Program.executable.deletingLastPathComponent().appending(
            path: "live-table"
        )
        return try place.program.start(arguments, of: executable)
    }

    @Test func itListsWhatChangesUntilItIsInterrupted() async throws {
        try await Workplace.with { place in
            try await place.database.run(Self.table)
            let shown = try start(place, ["t", "--where", "n > 10", "--order", "n desc"])
            while try !shown.output().hasSuffix("rows\n") { await Task.yield() }
            try await place.database.run(
                "begin; update t set n = n + 15; delete from t where id = 2; notify bulkhead_change; commit"
            )
            while try !shown.output().hasSuffix("1\t25\n~ 3\t45\n= 2 rows\n") { await Task.yield() }
            shown.send(SIGINT)
            #expect(await shown.end() == 130)
            #expect(try shown.errors() == "")
            #expect(
                try shown.output()
                    == "+ 3\t30\n+ 2\t20\n= 2 rows\n- 2\t20\n+ 1\t25\n~ 3\t45\n= 2 rows\n"
            )
        }
    }

    @Test func itEndsWithAJobWhenAllOfItIsShown() async throws {
        try await Workplace.with { place in
            try await place.database.run(Self.table)
            let job = try await place.database.value(
                "insert into bulkhead.job (kind) values ('k') returning id"
            )
            let shown = try start(place, ["t", "--until-job", job ?? ""])
            while try !shown.output().hasSuffix("rows\n") { await Task.yield() }
            // Nobody rings: the last row is there before the program hears of it.
            try await place.database.run(
                """
                begin; insert into t values (4, 40);
                update bulkhead.job set state = 'completed', started_at = now(), finished_at = now(); commit
                """
            )
            #expect(await shown.end() == 0)
            #expect(try shown.output().hasSuffix("+ 4\t40\n= 4 rows\n"))
        }
    }

    @Test func onATerminalItDrawsTheTableAnew() async throws {
        try await Workplace.with { place in
            try await place.database.run(Self.table)
            let shown = try place.program.startShell(
                "exec script -qec \"$(dirname $BULKHEAD)/live-table t --order n\" /dev/null"
            )
            let first = "\u{1B}[H1  10\u{1B}[0m\u{1B}[K\r\n2  20\u{1B}[0m\u{1B}[K\r\n3  30"
            while try !shown.output().contains(first) { await Task.yield() }
            try await place.database.run(
                "begin; delete from t where id < 3; notify bulkhead_change; commit"
            )
            while try !shown.output().contains(
                "\u{1B}[H3  30\u{1B}[0m\u{1B}[K\r\n\u{1B}[2m1 rows, +0 -2 ~0"
            ) {
                await Task.yield()
            }
        }
    }

    @Test func whatIsWrongIsSaid() async throws {
        try await Workplace.with { place in
            try await place.database.run(Self.table)
            for (arguments, status, words) in [
                (["t", "--where", "n >"], 1 as Int32, "syntax error"),
                (["nowhere"], 1, "does not exist"),
                ([], 2, "a table is missing"), (["t", "--until-job", "9"], 2, "no job 9"),
            ] {
                let executable = Program.executable.deletingLastPathComponent().appending(
                    path: "live-table"
                )
                let shown = try place.program.start(arguments, of: executable)
                #expect(await shown.end() == status)
                #expect(try shown.errors().contains(words))
            }
        }
    }
}
