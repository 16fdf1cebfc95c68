import BulkheadTesting
import Foundation
import Postgres
import Testing

@testable import BulkheadJobs

/// Each bad row is put aside with its place and reason, and takes no good row with it.
@Suite struct RejectTests {
    /// A table that can refuse a row in many ways.
    static let picky = """
        create extension if not exists btree_gist;
        create schema hc;
        create domain hc.even as int check (value % 2 = 0);
        create table hc.parent (id int primary key);
        insert into hc.parent values (1), (2);
        create table hc.picky (
            id int primary key,
            short varchar(3),
            even hc.even,
            needed text not null,
            positive int check (positive > 0),
            code text unique,
            parent int references hc.parent,
            late int references hc.parent deferrable initially deferred,
            boss int references hc.picky,
            room int,
            exclude using gist (room with =)
        );
        create function hc.refuse() returns trigger language plpgsql as $$
        begin
            if new.needed = 'raise' then raise exception 'not today'; end if;
            if new.needed = 'raise 45000' then
                raise exception 'a code of its own' using errcode = '45000';
            end if;
            return new;
        end $$;
        """
    static let trigger = """
        create trigger refuse before insert on hc.picky for each row execute function hc.refuse();
        """
    static let header = "id,short,even,needed,positive,code,parent,late,boss,room"

    struct Flaw: Sendable, CustomTestStringConvertible {
        let name: String
        let row: String
        let sqlstate: String
        let column: String?
        let value: String?
        let says: String
        var testDescription: String { name }
    }

    static let flaws = [
        Flaw(
            name: "a value that is no integer",
            row: "9x,,,n,,,,,,",
            sqlstate: "22P02",
            column: "id",
            value: "9x",
            says: "invalid input syntax for type integer"
        ),
        Flaw(
            name: "a text that is too long",
            row: "9,abcd,,n,,,,,,",
            sqlstate: "22001",
            column: "short",
            value: "abcd",
            says: "value too long"
        ),
        Flaw(
            name: "a domain's check",
            row: "9,,3,n,,,,,,",
            sqlstate: "23514",
            column: "even",
            value: "3",
            says: "domain"
        ),
        Flaw(
            name: "a missing value",
            row: "9,,,,,,,,,",
            sqlstate: "23502",
            column: "needed",
            value: nil,
            says: "null value in column"
        ),
        Flaw(
            name: "a check of the table",
            row: "9,,,n,-1,,,,,",
            sqlstate: "23514",
            column: nil,
            value: nil,
            says: "picky_positive_check"
        ),
        Flaw(
            name: "another unique index",
            row: "9,,,n,,c1,,,,",
            sqlstate: "23505",
            column: nil,
            value: nil,
            says: "picky_code_key"
        ),
        Flaw(
            name: "a foreign key",
            row: "9,,,n,,,77,,,",
            sqlstate: "23503",
            column: "parent",
            value: "77",
            says: "picky_parent_fkey"
        ),
        Flaw(
            name: "a deferred foreign key",
            row: "9,,,n,,,,77,,",
            sqlstate: "23503",
            column: "late",
            value: "77",
            says: "picky_late_fkey"
        ),
        Flaw(
            name: "a foreign key to its own table",
            row: "9,,,n,,,,,77,",
            sqlstate: "23503",
            column: "boss",
            value: "77",
            says: "picky_boss_fkey"
        ),
        Flaw(
            name: "an exclusion constraint",
            row: "9,,,n,,,,,,1",
            sqlstate: "23P01",
            column: nil,
            value: nil,
            says: "picky_room_excl"
        ),
        Flaw(
            name: "too few fields",
            row: "9,n",
            sqlstate: "22P04",
            column: nil,
            value: nil,
            says: "found 2"
        ),
        Flaw(
            name: "text after a quote",
            row: "9,\"a\"b,,n,,,,,,",
            sqlstate: "22P04",
            column: "short",
            value: nil,
            says: "quote"
        ),
        Flaw(
            name: "a NUL",
            row: "9,a\0,,n,,,,,,",
            sqlstate: "22021",
            column: "short",
            value: nil,
            says: "NUL"
        ),
    ]

    /// The bad row in first, middle and last place, in one batch and in several.
    @Test(arguments: flaws)
    func aBadRowIsPutAsideAlone(_ flaw: Flaw) async throws {
        try await ImportBench.with(Self.picky) { bench in
            for place in 0..<3 {
                for batch in [1, 1000] {
                    var rows = ["1,,,n,1,c1,1,1,,1", "2,abc,2,n,,,2,2,1,"]
                    rows.insert(flaw.row, at: place)
                    if place == 0, ["23505", "23P01"].contains(flaw.sqlstate) {
                        // Whoever comes first has the place, so this one must come later.
                        rows.swapAt(0, 1)
                    }
                    let line = 2 + (rows.firstIndex(of: flaw.row) ?? 0)
                    let text = ([Self.header] + rows).joined(separator: "\n")
                    let job = try await bench.load(
                        "hc.picky",
                        text,
                        "batch => \(batch), max_rejects => 1"
                    )
                    let where_ = Comment("place \(place), batches of \(batch)")
                    #expect(job.state == "completed", where_)
                    #expect(job.totals == ImportTotals(read: 3, inserted: 2, rejected: 1), where_)
                    let reject = try #require(job.rejects.first, where_)
                    #expect(job.rejects.count == 1)
                    #expect(reject.line == line, where_)
                    #expect(reject.sqlstate == flaw.sqlstate, where_)
                    #expect(reject.column == flaw.column, where_)
                    if flaw.name != "a NUL" { #expect(reject.value == flaw.value, where_) }
                    #expect(reject.message.contains(flaw.says), "\(reject.message)")
                    #expect(reject.raw == flaw.row.replacing("\0", with: "\\000"), where_)
                    #expect(
                        try await bench.rows("select id from hc.picky order by id") == [["1"], ["2"]]
                    )
                    #expect(try job.ids == ["1", "2"], where_)
                    try await bench.database.run("truncate hc.picky")
                }
            }
        }
    }

    @Test(arguments: [("raise", "P0001", "not today"), ("raise 45000", "45000", "a code of its own")])
    func aRowThatATriggerRefusesIsPutAside(word: String, sqlstate: String, says: String) async throws {
        try await ImportBench.with(Self.picky + Self.trigger) { bench in
            let job = try await bench.load(
                "hc.picky",
                "id,needed\n1,a\n2,\(word)\n3,b\n",
                "max_rejects => 1"
            )
            #expect(job.totals == ImportTotals(read: 3, inserted: 2, rejected: 1))
            #expect(job.rejects.map(\.line) == [3])
            #expect(job.rejects.map(\.sqlstate) == [sqlstate])
            #expect(job.rejects.map(\.message) == [says])
            #expect(try job.ids == ["1", "3"])
        }
    }

    @Test func everyBatchSizeGivesTheSameTableRejectsAndTotals() async throws {
        let rows = [
            "1,,,n,1,c1,1,1,,1", "x,,,n,,,,,,", "2,abcd,,n,,,,,,", "3,,,n,,c3,2,,1,", "4,,,,,,,,,",
            "5,,,n,-5,,,,,", "6,,,n,,c1,,,,", "7,,,n,,,99,,,", "8,,,n,,,,99,,", "9,,,n,,,,,99,", "10,n",
            "11,,,n,,c11,1,1,3,2", "12,,,n,,,,,,2", "13,,3,n,,,,,,", "14,,4,n,,,,,11,",
        ]
        let text = ([Self.header] + rows).joined(separator: "\n")
        try await ImportBench.with(Self.picky) { bench in
            var first: (rows: [[String?]], rejects: [SeenReject], totals: ImportTotals)?
            for batch in [1, 2, 3, 4, 5, 6, 7, 1000] {
                let job = try await bench.load(
                    "hc.picky",
                    text,
                    "batch => \(batch), max_rejects => 100"
                )
                #expect(job.state == "completed", "\(job.error ?? "")")
                let table = try await bench.rows("select * from hc.picky order by id")
                let this = (rows: table, rejects: job.rejects.map(\.place), totals: job.totals)
                if let first {
                    #expect(this.rows == first.rows, "batches of \(batch)")
                    #expect(this.rejects == first.rejects, "batches of \(batch)")
                    #expect(this.totals == first.totals, "batches of \(batch)")
                } else {
                    #expect(this.totals == ImportTotals(read: 15, inserted: 4, rejected: 11))
                    first = this
                }
                try await bench.database.run("truncate hc.picky")
            }
        }
    }
}

extension SeenReject {
    /// The same without the message, which tells an orphan found alone from one found among others.
    fileprivate var place: SeenReject {
        SeenReject(
            file: file,
            line: line,
            column: column,
            value: value,
            sqlstate: sqlstate,
            message: "",
            raw: raw,
            offset: offset
        )
    }
}
