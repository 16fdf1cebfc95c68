import Testing

/// Random rows, of which many are bad in one way or in several: each is refused for what a loop over the rows
/// would refuse it for, or none.
@Suite struct RandomRowsTests {
    static let setup = """
        create table hc.p (a int primary key);
        insert into hc.p select n from generate_series(1, 8) n;
        create table hc.t (id int primary key, f int references hc.p, u int unique, c int not null check (c < 90), s varchar(4));
        insert into hc.t select n, nullif(n % 9, 0), n, n, nullif(n % 3, 0)::text from generate_series(1, 20) n;
        """
    static let trigger = """
        create function hc.look() returns trigger language plpgsql as $$
        begin
            if new.s = 'bad' then raise 'look at it'; end if;
            if new.s = 'gone' then return null; end if;
            return new;
        end $$;
        create trigger look before insert or update on hc.t for each row execute function hc.look();
        """

    @Test(arguments: 1...3, ["", trigger])
    func areRefusedAsALoopRefusesThem(seed: UInt64, trigger: String) async throws {
        var random = Lehmer(seed: seed)
        let rows = (0..<300).map { Self.row($0, &random) }
        let table = OddTable(
            name: "seed \(seed)",
            setup: Self.setup + trigger,
            columns: ["id", "f", "u", "c", "s"],
            rows: rows,
            policies: ["skip", "fill", "update", "replace"],
            batches: [7, 1000]
        )
        try await table.check()
        let distinct = OddTable(
            name: "seed \(seed), keys once",
            setup: Self.setup + trigger,
            columns: ["id", "f", "u", "c", "s"],
            rows: (21...320).map { ["\($0)"] + Self.row($0, &random).dropFirst() },
            policies: ["error"],
            batches: [7, 1000]
        )
        try await distinct.check()
    }

    /// A good row, or one with a single flaw: of two flaws either could be named.
    private static func row(_ number: Int, _ random: inout Lehmer) -> [String?] {
        var row: [String?] = [
            "\(1 + random.next(below: 60))", "\(1 + random.next(below: 8))", "\(1000 + number)",
            "\(random.next(below: 90))", random.next(below: 3) == 0 ? nil : "ok",
        ]
        let flaws: [[String?]] = [
            ["x", nil, "99999999999"], ["9", "77", "y", nil],
            ["3", "\(1000 + number - 3)", "1.5", nil],
            ["90", nil, "z"], ["12345", "bad", "gone", ""],
        ]
        if random.next(below: 3) == 0 {
            let column = random.next(below: 5)
            row[column] = flaws[column][random.next(below: flaws[column].count)]
        }
        return row
    }
}

/// The same numbers for the same seed.
struct Lehmer {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 48271 % 2_147_483_647 }

    mutating func next(below limit: Int) -> Int {
        state = state * 48271 % 2_147_483_647
        return Int(state >> 4) % limit
    }
}
