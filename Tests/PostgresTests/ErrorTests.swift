import BulkheadTesting
import Testing

@testable import Postgres

@Suite struct ErrorTests {
    static let setUp = """
        create schema s;
        create table s.parent (id int primary key, name text not null,
            constraint name_is_short check (length(name) < 5));
        create table s.child (parent int constraint child_parent references s.parent);
        create table s.range (r int4range, constraint no_overlap exclude using gist (r with &&));
        insert into s.parent values (1, 'one');
        insert into s.range values ('[1,5)');
        """

    struct Case: Sendable {
        let statement: String
        let state: String
        let kind: PostgresError.Kind
        var table: String?
        var column: String?
        var constraint: String?
    }

    static let cases = [
        Case(
            statement: "insert into s.parent values (1, 'two')",
            state: "23505",
            kind: .conflict,
            table: "parent",
            constraint: "parent_pkey"
        ),
        Case(
            statement: "insert into s.parent values (2, null)",
            state: "23502",
            kind: .badData,
            table: "parent",
            column: "name"
        ),
        Case(
            statement: "insert into s.parent values (2, 'too long')",
            state: "23514",
            kind: .badData,
            table: "parent",
            constraint: "name_is_short"
        ),
        Case(
            statement: "insert into s.child values (9)",
            state: "23503",
            kind: .badData,
            table: "child",
            constraint: "child_parent"
        ),
        Case(
            statement: "insert into s.range values ('[2,3)')",
            state: "23P01",
            kind: .conflict,
            table: "range",
            constraint: "no_overlap"
        ),
        Case(statement: "select 1 / 0", state: "22012", kind: .badData),
        Case(statement: "select 'x'::int", state: "22P02", kind: .badData),
        Case(statement: "selekt", state: "42601", kind: .permanent),
        Case(statement: "select * from nothing", state: "42P01", kind: .permanent),
        Case(
            statement: "do $$ begin raise exception using errcode = 'BH002'; end $$",
            state: "BH002",
            kind: .fenced
        ),
        Case(
            statement: "do $$ begin raise serialization_failure; end $$",
            state: "40001",
            kind: .transient
        ),
        Case(
            statement: "do $$ begin raise read_only_sql_transaction; end $$",
            state: "25006",
            kind: .unavailable
        ),
        Case(
            statement: "set local statement_timeout = 1; select pg_sleep(5)",
            state: "57014",
            kind: .cancelled
        ),
        Case(
            statement: "do $$ begin raise insufficient_privilege; end $$",
            state: "42501",
            kind: .permission
        ),
        Case(
            statement: "do $$ begin raise disk_full; end $$",
            state: "53100",
            kind: .transient
        ),
    ]

    @Test(arguments: cases)
    func anErrorSaysWhatItIsAbout(_ example: Case) async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let session = try await database.session()
            try await session.run(Self.setUp)
            let error = await #expect(throws: PostgresError.self) {
                try await session.run(example.statement)
            }
            #expect(error?.state?.rawValue == example.state)
            #expect(error?.kind == example.kind)
            #expect(error?.table == example.table)
            #expect(error?.column == example.column)
            #expect(error?.constraint == example.constraint)
            #expect(error?.schema == (example.table == nil ? nil : "s"))
            #expect(try await session.value("select 1") == "1")
        }
    }

    @Test func anErrorCarriesDetailHintAndContextOnOneLine() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let error = await #expect(throws: PostgresError.self) {
                try await database.run(
                    """
                    do $$ begin
                        raise exception E'first\\nsecond' using detail = E'the\\ndetail', hint = 'the hint';
                    end $$
                    """
                )
            }
            #expect(error?.detail == "the\ndetail")
            #expect(error?.hint == "the hint")
            #expect(error?.context?.contains("PL/pgSQL") == true)
            #expect(
                error?.description
                    == "first second (the detail); the hint [SQLSTATE P0001]"
            )
        }
    }

    @Test(arguments: [
        ("08006", PostgresError.Kind.connectionLost), ("57P01", .connectionLost),
        ("57P02", .connectionLost), ("25P03", .connectionLost), ("57P05", .connectionLost),
        ("25P04", .connectionLost), ("57P03", .unavailable), ("53300", .unavailable),
        ("25006", .unavailable), ("40P01", .transient), ("55P03", .transient),
        ("55006", .transient), ("28P01", .permission), ("28000", .permission),
        ("3D000", .permanent), ("0A000", .permanent), ("XX000", .permanent), ("44000", .badData),
    ])
    func aCodeTellsWhatCanBeDone(_ code: String, _ kind: PostgresError.Kind) {
        #expect(PostgresError(state: SQLState(rawValue: code), message: "").kind == kind)
    }

    @Test func aClassMatchesItsMembersAndACodeOnlyItself() {
        #expect(SQLState(rawValue: "23000") ~= SQLState.uniqueViolation)
        #expect(!(SQLState(rawValue: "22000") ~= SQLState.uniqueViolation))
        #expect(!(SQLState.checkViolation ~= SQLState.uniqueViolation))
        #expect(!(SQLState.checkViolation ~= nil))
    }
}
