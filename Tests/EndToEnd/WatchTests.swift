import BulkheadTesting
import Foundation
import Postgres
import Testing

/// The feed in the shell.
@Suite struct WatchTests {
    private struct Line: Decodable {
        let id: Int64
        let relation: String
        let operation: String
        let ids: [Int]?
        let token: String
    }

    private func lines(_ output: String) throws -> [Line] {
        try output.split(separator: "\n").map {
            try JSONDecoder().decode(Line.self, from: Data($0.utf8))
        }
    }

    private static let table = """
        create table t (id int primary key); create table "T u" (id int primary key);
        select bulkhead.track('t'), bulkhead.track('"T u"')
        """

    /// Waits until a watcher has found its place: what comes from here on it prints.
    private func waitForWatcher(_ place: Workplace) async throws {
        try await place.database.waitUntil(
            """
            select count(*) = 1 from pg_stat_activity where datname = current_database()
                and application_name = 'bulkhead feed' and query like '%changes_since%'
            """
        )
    }

    @Test func eachLineIsAnObjectWithTheTokenToGoOnFrom() async throws {
        try await Workplace.with { place in
            try await place.database.run(Self.table)
            try await place.database.run(
                "insert into t values (1), (2); insert into \"T u\" values (3); truncate t; delete from \"T u\""
            )
            let all = try await place.program.shell("$BULKHEAD watch --since start | head -4")
            #expect(all.status == 0)
            #expect(all.errors == "")
            let lines = try lines(all.output)
            #expect(lines.map(\.operation) == ["insert", "insert", "reset", "delete"])
            #expect(lines.map(\.relation).prefix(2) == ["public.t", "public.\"T u\""])
            #expect(lines.map(\.ids) == [[1, 2], [3], nil, [3]])
            #expect(
                try place.keys(of: String(all.output.prefix { $0 != "\n" })) == [
                    "id", "relation", "operation", "ids", "job", "at", "token",
                ]
            )
            let rest = try await place.program.shell(
                "$BULKHEAD watch --since '\(lines[1].token)' '\"T u\"' | head -1"
            )
            #expect(rest.status == 0)
            #expect(try self.lines(rest.output).map(\.id) == [lines[3].id])
        }
    }

    /// The reader has all that it wants, and no further change comes to tell the writer so.
    @Test func aClosedPipeEndsItAtOnceAndWithoutAWord() async throws {
        try await Workplace.with { place in
            try await place.database.run(Self.table)
            try await place.database.run("insert into t values (1); insert into t values (2)")
            let exact = try await place.program.shell(
                "set -o pipefail; $BULKHEAD watch --since start | head -2"
            )
            #expect(exact.status == 0)
            #expect(exact.errors == "")
            #expect(try lines(exact.output).count == 2)
            try await place.database.run(
                "insert into bulkhead.change (relation, operation, ids) select 'public.t', 'update', '[1]' from generate_series(1, 5000)"
            )
            let many = try await place.program.shell(
                "set -o pipefail; $BULKHEAD watch --since start | head -5"
            )
            #expect(many.status == 0)
            #expect(many.errors == "")
            #expect(try lines(many.output).count == 5)
        }
    }

    @Test func anInterruptEndsItWithoutAWord() async throws {
        try await Workplace.with { place in
            try await place.database.run(Self.table)
            let watch = try place.program.start("watch", "t", "--since", "now")
            try await waitForWatcher(place)
            try await place.database.run(
                "insert into t values (1); insert into \"T u\" values (2); notify bulkhead_change"
            )
            while try !watch.output().hasSuffix("\n") { await Task.yield() }
            watch.send(SIGINT)
            #expect(await watch.end() == 130)
            #expect(try watch.errors() == "")
            #expect(try lines(watch.output()).map(\.ids) == [[1]])
        }
    }

    @Test func aHundredThousandChangesStreamInConstantMemory() async throws {
        try await Workplace.with { place in
            try await place.database.run(
                """
                insert into bulkhead.change (relation, operation, ids)
                select 'public.t', 'update', jsonb_build_array(n, n::text) from generate_series(1, 100000) n
                """
            )
            // A few of the longest kind among them.
            try await place.database.run(
                """
                insert into bulkhead.change (relation, operation, ids)
                select 'public.t', 'update', ids
                from generate_series(1, 200),
                    (select jsonb_agg(md5(n::text)) as ids from generate_series(1, 10000) n) l
                """
            )
            let result = try await place.program.shell(
                """
                exec 3< <($BULKHEAD watch --since start & echo $! > pid; wait)
                head -n 100200 <&3 | sha256sum > /dev/null; kill -STOP $(cat pid) 2>/dev/null
                grep VmHWM /proc/$(cat pid)/status | tr -dc 0-9; kill -KILL $(cat pid)
                """
            )
            let kilobytes = try #require(Int(result.output), "\(result.errors)")
            #expect(kilobytes < 64 * 1024, "\(kilobytes) KiB")
        }
    }

    @Test func whatCannotBeWatchedIsSaidAtOnce() async throws {
        try await Workplace.with { place in
            let unknown = try await place.program.run("watch", "nowhere")
            #expect(unknown.status == 1)
            #expect(unknown.errors.contains("there is no table nowhere"))
            let token = try await place.program.run("watch", "--since", "yesterday")
            #expect(token.status == 2)
            #expect(token.errors.contains("not a token: yesterday"))
            let old = try #require(
                try await place.database.value("select bulkhead.current_token()")
            )
            try await place.database.run("update bulkhead.feed set epoch = gen_random_uuid()")
            let expired = try await place.program.run("watch", "--since", old)
            #expect(expired.status == 1)
            #expect(expired.errors.contains("token expired: read the tables again"))
        }
        try await Workplace.with(hasSchema: false) { place in
            let missing = try await place.program.run("watch")
            #expect(missing.status == 3)
        }
    }
}
