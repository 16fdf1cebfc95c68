import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

@Suite struct StatementSplitterTests {
    private func texts(_ script: String) throws -> [String] {
        try StatementSplitter.statements(script).map(\.text)
    }

    /// Each script with the number of statements in it.
    @Test(arguments: [
        ("select ';'; select 1", 2),
        ("select 'it''s;'; select 1", 2),
        ("select '\\'; select 1", 2),
        ("select E'\\';'; select 1", 2),
        ("select e'\\\\'; select 1", 2),
        ("select name'\\'; select 1", 2),
        ("select U&'\\0061;'; select 1", 2),
        ("select E'a'\n  -- and on\n  'b\\';c'; select 1", 2),
        ("select 'a' 'b;'; select 1", 2),
        ("select $$;$$; select 1", 2),
        ("select $a$ $$ ; $b$ ; $a$; select 1", 2),
        ("select $1; select 1", 2),
        ("select a$b$ from t; select $b$;$b$", 2),
        ("select \"a;\"\";b\"; select 1", 2),
        ("/* ; /* ; */ ; */ select 1; select 1", 2),
        ("select 1 -- ; select 2\n; select 3", 2),
        ("select 1 - -1; select 2 +-- ;\n 3", 2),
        ("create rule r as on insert to t do (delete from a; delete from b); select 1", 2),
        (
            """
            create or replace function f(n int) returns int begin atomic
            select case when n > 0 then 1 else 2 end; select 3; end; select 1
            """, 2
        ),
        ("create procedure p() begin atomic end; select 1", 2),
        ("begin; select 1; end", 3),
        (";;  ; -- nothing\n /* here */ ;", 0),
        ("", 0),
        ("select 1;\r\nselect 2\r\n", 2),
        ("select 'é;', \"ü;\", $ñ$;$ñ$; select 1", 2),
    ])
    func statementsEndWherePsqlEndsThem(script: String, count: Int) throws {
        #expect(try texts(script).count == count)
    }

    @Test func aStatementKnowsItsLineAndKeepsItsInnerComments() throws {
        let statements = try StatementSplitter.statements(
            "-- one\n/* two\n */ select 1, -- three\n  2;\n\n\tselect $$a\nb$$; select 3"
        )
        #expect(statements.map(\.line) == [3, 6, 7])
        #expect(statements[0].text == "select 1, -- three\n  2")
    }

    @Test(arguments: [
        ("select 1;\nselect 'a", "the quote ' is not closed", 2),
        ("select 1;\n\nselect \"a", "the quote \" is not closed", 3),
        ("select $x$ $$ $y$", "the text that $x$ opens is not closed", 1),
        ("/* a\n/* b */", "the comment that /* opens is not closed", 1),
        ("select\n(1", "the parenthesis is not closed", 2),
        (
            "create function f() returns int\nbegin atomic select 1;",
            "BEGIN ATOMIC opens has no END", 1
        ),
        ("select 1;\n\\i other.sql\n", "a command of psql", 2),
        ("select 1 \\gset", "a command of psql", 1),
        ("\ncopy t (a, b) from stdin;\n1\t2\n\\.\n", "COPY FROM STDIN", 2),
    ])
    func whatCannotBeRunIsRefusedWithItsLine(script: String, words: String, line: Int) {
        let flaw = #expect(throws: SQLFlaw.self) { try StatementSplitter.statements(script) }
        #expect(flaw?.message.contains(words) == true, "\(flaw.debugDescription)")
        #expect(flaw?.line == line)
    }

    /// The server splits the whole script by its own parser, and runs as many calls with the same values.
    @Test func theServerSplitsRandomScriptsInTheSamePlaces() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let session = try await database.session()
            try await session.run(
                """
                create table seen (id int generated always as identity, said text);
                create function tick(variadic text[]) returns void language sql as
                    'insert into seen (said) values ($1::text)';
                create table rule_target (n int)
                """
            )
            var random = SplitMix64(seed: 0x5EED)
            for _ in 0..<300 {
                let script = RandomScript.make(&random)
                try await session.run("truncate seen; drop rule if exists r on rule_target")
                try await session.run(script)
                let whole = try await session.value(
                    "select array_agg(said order by id)::text from seen"
                )
                try await session.run("truncate seen; drop rule if exists r on rule_target")
                for statement in try StatementSplitter.statements(script) {
                    // A prepared statement is one, or the server refuses it.
                    try await session.use { _ = try $0.query(.init(unsafe: statement.text)).count }
                }
                let split = try await session.value(
                    "select array_agg(said order by id)::text from seen"
                )
                #expect(split == whole, "\(script)")
            }
        }
    }

    /// Whatever the text is, statements are parts of it, in order, with nothing but blanks, comments and
    /// semicolons between them.
    @Test func nothingIsLostOrInventedInRandomBytes() throws {
        var random = SplitMix64(seed: 7)
        let alphabet = Array("';\"$a1(E/*-\n \\)beginatomicend{}")
        for _ in 0..<20_000 {
            let text = String(
                (0..<Int.random(in: 0...40, using: &random)).map { _ in
                    alphabet.randomElement(using: &random) ?? " "
                }
            )
            let statements: [SQLStatement]
            do { statements = try StatementSplitter.statements(text) } catch is SQLFlaw { continue }
            var rest = text[...]
            for statement in statements {
                let found = try #require(rest.ranges(of: statement.text).first, "\(text)")
                let between = String(rest[..<found.lowerBound])
                #expect(try StatementSplitter.statements(between).isEmpty, "\(text)")
                rest = rest[found.upperBound...]
            }
            #expect(try StatementSplitter.statements(String(rest)).isEmpty, "\(text)")
        }
    }
}

/// Scripts that any server runs, full of what makes splitting hard.
enum RandomScript {
    static func make(_ random: inout SplitMix64) -> String {
        (0..<Int.random(in: 1...6, using: &random)).map { _ in
            blank(&random) + statement(&random) + blank(&random) + ";"
        }.joined()
    }

    private static func statement(_ random: inout SplitMix64) -> String {
        switch Int.random(in: 0...9, using: &random) {
        case 0:
            return "create or replace rule r as on insert to rule_target do also "
                + "(select tick(\(value(&random)));\(blank(&random))select tick('b'))"
        case 1:
            return "create or replace function f() returns void begin atomic"
                + "\(blank(&random)) select tick(case when true then \(value(&random)) end); select tick('x'); end"
        case 2: return "insert into rule_target values (1)"
        case 3: return "do $do$ begin perform tick(\(value(&random))); end; $do$"
        default:
            let values = (0..<Int.random(in: 1...3, using: &random)).map { _ in value(&random) }
            return "select\(blank(&random))tick(\(values.joined(separator: ","))) as \"a;\"\"b\""
        }
    }

    private static func value(_ random: inout SplitMix64) -> String {
        [
            "'a;b'::text", "'it''s;'::text", "E'q\\';\\\\'::text", "$$;'$$::text",
            "$t1$ $$ ; $t1$::text",
            "'\\'::text", "U&'\\0041;'::text", "N'x;'::text", "'a'\n'b;'::text",
            "E'a'\n'\\';'::text",
            "(1 - -1)::text", "(2 */* ; ' */ 3)::text", "'é;'::text", "$é$;$é$::text",
            "(select 'x;' as \"y;z\")::text", "('a' || -- ; '\n 'b')::text",
        ].randomElement(using: &random) ?? "''"
    }

    private static func blank(_ random: inout SplitMix64) -> String {
        [" ", "\n", " -- it's; \"fun\n", " /* ; ' /* $$ */ \" */ ", "\t", "\r\n", " --\n"]
            .randomElement(using: &random) ?? " "
    }
}
