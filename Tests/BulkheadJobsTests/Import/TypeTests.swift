import BulkheadTesting
import Foundation
import Postgres
import Testing

@testable import BulkheadJobs

/// Values of every type arrive as COPY, which psql's `\copy` sends, would bring them.
@Suite struct TypeTests {
    static let table = """
        create schema hc;
        create type hc.colour as enum ('red', 'deep blue');
        create domain hc.email as text check (value like '%@%');
        create table hc.t (
            id int primary key, big bigint, amount numeric, price numeric(12, 3), ratio float8,
            day date, at timestamptz, plain timestamp, span interval, flag boolean, name text,
            short varchar(10), fixed char(5), colour hc.colour, numbers int[], words text[],
            range int4range, doc jsonb, raw json, bytes bytea, code uuid, address inet, mail hc.email
        );
        create table hc.reference (like hc.t including all);
        """

    @Test(arguments: ["error", "skip"], [UInt64(1), 2])
    func everyValueIsWhatCopyMakesOfIt(policy: String, seed: UInt64) async throws {
        try await ImportBench.with(Self.table) { bench in
            var file = RandomTypedFile(seed: seed)
            let text = file.text(rows: 400)
            let reference = try await bench.database.session()
            try await reference.use { connection in
                _ = try connection.copyIn("copy hc.reference from stdin (format csv, header)") {
                    try $0.write(Array(text.utf8))
                }
            }
            let job = try await bench.load("hc.t", text, "on_conflict => '\(policy)', batch => 150")
            #expect(job.totals == ImportTotals(read: 400, inserted: 400), "\(job.error ?? "")")
            let difference = """
                select count(*) from (
                    (select t::text from hc.t except all select r::text from hc.reference r)
                    union all
                    (select r::text from hc.reference r except all select t::text from hc.t)) d
                """
            #expect(try await bench.value(difference) == "0")
            let checksum = "select md5(string_agg(t::text, chr(10) order by id)) from"
            #expect(
                try await bench.value("\(checksum) hc.t t")
                    == bench.value("\(checksum) hc.reference t")
            )
        }
    }
}

/// A CSV file of random values for the columns of `hc.t`, the same for each seed.
private struct RandomTypedFile {
    private var random: SplitMix64

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
    }

    mutating func text(rows: Int) -> String {
        var text =
            "id,big,amount,price,ratio,day,at,plain,span,flag,name,short,fixed,colour,numbers,words,"
            + "range,doc,raw,bytes,code,address,mail\n"
        for row in 1...rows {
            var fields = [String(row)]
            for value in values() { fields.append(field(value)) }
            text += fields.joined(separator: ",") + "\n"
        }
        return text
    }

    private mutating func values() -> [String] {
        [
            "\(Int64(bitPattern: random.next()))",
            "\(pick(["-", ""]))\(int(999_999_999)).\(int(99_999))e\(int(20) - 10)",
            "\(int(99_999)).\(int(99_999))",
            pick(["NaN", "Infinity", "-0", "1e-300", "0.1", "\(int(1000)).5"]),
            pick([
                "\(1900 + int(200))-0\(1 + int(8))-1\(int(9))", "infinity", "0044-03-15 BC",
                "20250102",
            ]),
            pick([
                "2025-03-30 02:30:00 Europe/Oslo", "2025-01-02T03:04:05.123456Z", "epoch",
                "-infinity",
            ]),
            "19\(10 + int(89))-12-31 23:59:5\(int(9)).\(int(999_999))",
            pick(["1 day 2:03", "P1Y2M3DT4H", "-5 min"]),
            pick(["t", "false", "on", "0"]), nasty(int(30)), nasty(10).prefixScalars(10),
            pick(["ab", "a b  ", "é"]), pick(["red", "deep blue"]),
            pick(["{}", "{1,NULL,-3}", "{{1,2},{3,4}}", "[2:3]={5,6}"]),
            #"{"a \"q\" \\ b",NULL,"NULL","",x}"#, pick(["empty", "[1,5)", "(,9]"]),
            pick([#"{"a": [1, 2.50, "\u00e9\""]}"#, "null", "1e400", #""x""#]),
            #"{"b" :1,  "a":2, "b":3}"#,
            pick([#"\x00ff"#, #"abc\\\000"#, ""]),
            "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A\(10 + int(89))",
            pick(["10.0.0.1/8", "::1", "fe80::1/64"]), "\(int(99))@x",
        ]
    }

    /// One in eight is NULL; what must be quoted is, and half of the rest.
    private mutating func field(_ value: String) -> String {
        if int(8) == 0 { return "" }
        let mustQuote = value.isEmpty || value.utf8.contains { ",\"\n\r".utf8.contains($0) }
        return mustQuote || int(2) == 0 ? "\"\(value.replacing("\"", with: "\"\""))\"" : value
    }

    private mutating func nasty(_ length: Int) -> String {
        let pieces = [
            "a", " ", "\t", "\n", "\r", "\r\n", "\"", ",", "\\", "\\N", "\\n", "'", "{", "}", "😀",
            "é", "\u{FEFF}",
            "\u{1}", "\u{7F}", "NULL", "%", "\u{2028}", "b\u{301}",
        ]
        return (0..<length).map { _ in pick(pieces) }.joined()
    }

    private mutating func pick(_ values: [String]) -> String { values[int(values.count)] }

    private mutating func int(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
}

extension String {
    fileprivate func prefixScalars(_ count: Int) -> String {
        var text = ""
        text.unicodeScalars.append(contentsOf: unicodeScalars.prefix(count))
        return text
    }
}
