import Testing

@testable import BulkheadJobs

@Suite struct MigrationPlanTests {
    private func plan(_ text: String, name: String = "0007_x.sql", down: String? = nil) throws
        -> MigrationPlan
    {
        try MigrationPlan(MigrationFile(name: name, text: text, downText: down))
    }

    @Test func aFileWithoutCommentsIsOneTransaction() throws {
        let plan = try plan("create table a ();\ncreate table b ();")
        #expect(plan.up.map(\.kind) == [.transaction])
        #expect(plan.up[0].statements.map(\.line) == [1, 2])
        #expect(plan.down.isEmpty)
    }

    @Test func commentsMarkSteps() throws {
        let plan = try plan(
            """
            alter table a add b int;
            -- bulkhead: backfill public."A b" batch=500 until b is not null and c <> ';'
            update "A b" set b = 1 where {batch};
            -- bulkhead: concurrently
            create index on a (b);
            -- bulkhead: transaction
            -- bulkhead: tables a, "B".c
            select 1;
            -- bulkhead: down
            drop index a_b_idx;
            """
        )
        #expect(
            plan.up.map(\.kind) == [
                .transaction,
                .backfill(
                    .init(table: "public.\"A b\"", batch: 500, until: "b is not null and c <> ';'")
                ),
                .concurrently, .transaction,
            ]
        )
        #expect(plan.up.map(\.line) == [1, 2, 4, 6])
        #expect(plan.up[3].namedTables == ["a", "\"B\".c"])
        #expect(plan.down.map(\.kind) == [.transaction])
    }

    @Test func dbmateFilesAreRead() throws {
        let plan = try plan(
            "-- migrate:up transaction:false\ncreate index concurrently i on a (b);\n\n"
                + "-- migrate:down\ndrop table a"
        )
        #expect(plan.up.map(\.kind) == [.concurrently])
        #expect(plan.down.map(\.kind) == [.transaction])
        #expect(plan.down[0].statements.map(\.text) == ["drop table a"])
    }

    @Test func gooseFilesAreRead() throws {
        let plan = try plan(
            """
            -- +goose Up
            create table a (n int);
            -- +goose StatementBegin
            create function f() returns int language plpgsql as $$ begin return 1; end; $$
            -- +goose StatementEnd
            -- +goose Down
            drop function f();
            drop table a;
            """
        )
        #expect(plan.up[0].statements.count == 2)
        #expect(plan.down[0].statements.count == 2)
        let outside = try self.plan("-- +goose NO TRANSACTION\n-- +goose Up\nvacuum a;\nselect 1;")
        #expect(outside.up.map(\.kind) == [.concurrently])
    }

    @Test func aFileOfDownStatementsBesideTakesItBack() throws {
        let plan = try plan("create table a ();", name: "0001_a.up.sql", down: "drop table a;")
        #expect(plan.down.map { $0.statements.map(\.text) } == [["drop table a"]])
    }

    @Test func beginAndCommitAroundAFileAreTheStepsOwn() throws {
        #expect(try plan("BEGIN;\nselect 1;\nCOMMIT;").up[0].statements.map(\.text) == ["select 1"])
        #expect(try plan("start transaction; select 1; end").up[0].statements.count == 1)
    }

    @Test func aFileOfWhatRefusesATransactionRunsWithoutOne() throws {
        #expect(try plan("create index concurrently on a (b)").up.map(\.kind) == [.concurrently])
        #expect(
            try plan("vacuum a; reindex table concurrently a").up.map(\.kind) == [.concurrently]
        )
    }

    @Test func aFileOfCommentsIsAStepOfNothing() throws {
        #expect(
            try plan("-- later\n").up == [
                .init(kind: .transaction, line: 1, statements: [], namedTables: nil)
            ]
        )
    }

    @Test(arguments: [
        ("select 1;\ncommit;", 2, "the step is one transaction already"),
        ("begin;\nselect 1;\nrollback;", 1, "the step is one transaction already"),
        (
            "alter table a add b int;\ncreate index concurrently on a (b);", 2,
            "-- bulkhead: concurrently"
        ),
        ("-- bulkhead: transaction\nvacuum;", 2, "cannot run in a transaction"),
        ("-- bulkhead: concurrently\nbegin;", 2, "commits by itself"),
        ("update a set b = 1 where {batch}", 1, "put -- bulkhead: backfill TABLE before it"),
        ("-- bulkhead: backfill a\nupdate a set b = 1", 2, "a backfill needs {batch}"),
        ("-- bulkhead: backfill a\nupdate a set b = '{batch}'", 2, "a backfill needs {batch}"),
        (
            "-- bulkhead: backfill a\nupdate a set b = 1 where {batch} and {batch}", 2,
            "once, not 2 times"
        ),
        (
            "-- bulkhead: backfill b\nupdate a set b = 1 where {batch}", 2,
            "does not speak of b, whose rows"
        ),
        (
            "-- bulkhead: backfill a\nselect 1 where {batch}", 2,
            "one UPDATE, INSERT ... SELECT or DELETE"
        ),
        (
            "-- bulkhead: backfill a\nupdate a set b=1 where {batch};\nselect 1", 3,
            "holds one statement"
        ),
        ("-- bulkhead: backfill\nupdate a set b = 1 where {batch}", 1, "backfill needs the table"),
        (
            "-- bulkhead: backfill a batch=0\nupdate a set b = 1 where {batch}", 1,
            "from 1 to 1000000"
        ),
        (
            "-- bulkhead: backfill a while b\nupdate a set b = 1 where {batch}", 1,
            "is not understood"
        ),
        ("select 1;\n-- bulkhead: concurently\nselect 2", 2, "is not understood"),
        ("-- bulkhead: concurrently\n-- bulkhead: transaction\nselect 1", 1, "holds no statement"),
        ("select 1\n-- bulkhead: transaction\n;", 2, "not ended by a semicolon"),
        ("-- migrate:up transaction:no\nselect 1", 1, "transaction:false"),
        ("-- +goose Sideways\nselect 1", 1, "is not understood"),
        ("-- +goose StatementBegin\nselect 1;", 1, "has no StatementEnd"),
        ("-- bulkhead: tables a b\nselect 1", 1, "commas between them"),
        ("select 'a", 1, "not closed"),
    ])
    func whatIsWrongIsSaidWithFileAndLine(text: String, line: Int, words: String) {
        let error = #expect(throws: MigrationError.self) { try plan(text) }
        #expect(error?.position == "0007_x.sql line \(line)")
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }
}
