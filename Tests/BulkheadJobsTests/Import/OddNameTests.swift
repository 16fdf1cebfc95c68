import Postgres
import Testing

/// Names that SQL, CSV or our own statements could trip over.
@Suite struct OddNameTests {
    static let names = [
        "a\"b", #"a\b"#, "a%b", "%s", "$1", "q'q", #"\."#, "a b", "a\nb",
        String(repeating: "Ä", count: 31), String(repeating: "l", count: 63), "select", "excluded",
        "old", "new", "bulkhead_t", "bulkhead_n", "bulkhead_c1", "bulkhead_stored",
        "bulkhead_missing", "named", "s", "t", "e", "o", "r", "id", "mark", "part", "key",
    ]

    @Test(arguments: names)
    func aTableAndItsKeyMayBeCalledSo(name: String) async throws {
        let quoted = quoted(identifier: name)
        let table = OddTable(
            name: name,
            setup: """
                create table hc.\(quoted) (\(quoted) int primary key, v int check (v <> 99), w int references hc.\(quoted));
                insert into hc.\(quoted) values (1, null, null), (2, 4, null);
                """,
            table: "hc.\(quoted)",
            columns: [name, "v", "w"],
            rows: [
                ["1", "7", "1"], ["2", nil, "2"], ["3", "x", "1"], ["4", "99", "1"],
                ["5", "5", "99"], ["6", "6", "6"], ["6", "7", "1"],
            ],
            policies: ["fill"],
            batches: [1000]
        )
        try await table.check()
    }
}
