import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

/// Files in other encodings, and rows that are too long to be held.
@Suite struct ImportEncodingTests {
    static let table = "create schema hc; create table hc.t (id int primary key, name text);"

    @Test func theServersNamesAreKnownAndMeanTheSame() async throws {
        try await ImportBench.with("") { bench in
            let names = try await bench.rows(
                """
                select distinct pg_encoding_to_char(n) from generate_series(0, 60) n
                where pg_encoding_to_char(n) not in ('', 'MULE_INTERNAL') order by 1
                """
            ).compactMap { $0.first ?? nil }
            #expect(names.count > 38)
            for name in names {
                let encoding = try #require(TextEncoding(name), "\(name)")
                let bytes = Array("id,name\n1,\"a\\b|~\"\n".utf8)
                let source = try TranscodedSource(MemorySource(bytes), from: encoding)
                let loaded = try LoadedFile(RecordReader(source))
                // These have a sign of money in the place of the backslash.
                if ["JOHAB", "SHIFT_JIS_2004"].contains(name) { continue }
                #expect(loaded.rows == [["1", "a\\b|~"]], "\(name)")
            }
        }
    }

    /// Every byte of the encodings of one byte, as the server converts it.
    @Test func singleBytesMeanWhatTheyMeanToTheServer() async throws {
        try await ImportBench.with("") { bench in
            for name in [
                "LATIN1", "LATIN2", "LATIN5", "LATIN7", "LATIN9", "LATIN10", "WIN1250", "WIN1251",
                "WIN1252", "WIN1256", "WIN866", "KOI8R", "KOI8U", "ISO_8859_5", "ISO_8859_7",
            ] {
                let encoding = try #require(TextEncoding(name))
                for byte in UInt8(0xA0)...UInt8(0xFF) {
                    let source = try TranscodedSource(MemorySource([byte]), from: encoding)
                    let mine = SeenFile(reading: RecordReader(source)).records.first?.bytes
                    let server = try await self.converted(byte, name, bench)
                    if let server { #expect(mine == Array(server.utf8), "\(name) \(byte)") }
                }
            }
        }
    }

    /// Nil for what the encoding lacks.
    private func converted(_ byte: UInt8, _ name: String, _ bench: ImportBench) async throws
        -> String?
    {
        do {
            let hex = String(byte, radix: 16)
            return try await bench.value("select convert_from('\\x\(hex)', '\(name)')")
        } catch is PostgresError {
            return nil
        }
    }

    @Test(arguments: ["csv", "jsonl"], [1, 1000])
    func aFileInAnotherEncodingIsReadBatchAfterBatch(format: String, batch: Int) async throws {
        try await ImportBench.with(Self.table) { bench in
            var bytes: [UInt8] = format == "csv" ? Array("id,name\n".utf8) : []
            for row in 1...9 {
                // 0x81 is no character of this encoding.
                let name: [UInt8] = row == 5 ? [0x81] : [0x80, 0xE9]
                bytes +=
                    format == "csv"
                    ? Array("\(row),".utf8) + name + [0x0A]
                    : Array("{\"id\":\(row),\"name\":\"".utf8) + name + Array("\"}\n".utf8)
            }
            try bench.folder.write(bytes, to: "in.\(format)")
            let job = try await bench.load(
                "hc.t",
                files: ["in.\(format)"],
                "encoding => 'win1252', max_rejects => 1, batch => \(batch)"
            )
            #expect(job.totals == ImportTotals(read: 9, inserted: 8, rejected: 1))
            #expect(job.rejects.map(\.line) == [format == "csv" ? 6 : 5])
            #expect(job.rejects.map(\.sqlstate) == ["22021"])
            #expect(try await bench.rows("select distinct name from hc.t") == [["€é"]])
        }
    }

    @Test func anEncodingThatNobodyKnowsIsRefused() async throws {
        try await ImportBench.with(Self.table) { bench in
            for name in ["", "a//TRANSLIT", "../x", " "] {
                let error = try await #require(throws: PostgresError.self) {
                    try await bench.enqueue("hc.t", files: ["in.csv"], "encoding => '\(name)'")
                }
                #expect(error.state?.rawValue == "22023")
            }
            let job = try await bench.load("hc.t", "id\n1\n", "encoding => 'KLINGON'")
            #expect(job.state == "discarded")
            #expect(job.attempt == 1)
            #expect(job.error?.contains("KLINGON") == true, "\(job.error ?? "")")
        }
    }

    @Test(arguments: ["csv", "jsonl"])
    func aRowBeyondTheLimitIsPassedOver(format: String) async throws {
        try await ImportBench.with(Self.table) { bench in
            let long = String(repeating: "x,\"\"", count: 100_000)
            let text =
                format == "csv"
                ? "id,name\n1,a\n2,\"\(long)\n\(long)\"\n3,b\n"
                : "{\"id\":1,\"name\":\"a\"}\n\n{\"id\":2,\"name\":\"\(long.replacing("\"", with: "'"))\"}\n"
                    + "{\"id\":3,\"name\":\"b\"}\n"
            try bench.folder.write(text, to: "in.\(format)")
            for limit in [30, 100_000] {
                let job = try await bench.load(
                    "hc.t",
                    files: ["in.\(format)"],
                    "max_row_bytes => \(limit), max_rejects => 1"
                )
                #expect(job.totals == ImportTotals(read: 3, inserted: 2, rejected: 1))
                #expect(job.rejects.map(\.line) == [3])
                #expect(job.rejects.map(\.sqlstate) == ["54000"])
                #expect(job.rejects.first?.raw.utf8.count == 65_536)
                try await bench.database.run("truncate hc.t")
            }
        }
    }
}
