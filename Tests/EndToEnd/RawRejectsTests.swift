import BulkheadTesting
import Foundation
import Postgres
import Testing

/// Rejected rows come out as they stood in the file, and go in again once they are mended.
@Suite struct RawRejectsTests {
    private static let table = "create table t (id int primary key, name text, n int)"

    private func load(_ place: Workplace, _ words: [String]) async throws -> String {
        let enqueued = try await place.program.run(
            ["import", "t"] + words + ["--max-rejects", "100000"]
        )
        #expect(enqueued.status == 0, "\(enqueued.errors)")
        let drained = try await place.drain()
        #expect(drained.status == 0, "\(drained.errors)")
        return enqueued.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func raw(_ place: Workplace, _ words: String...) async throws -> Program.Result {
        try await place.program.run(["rejects"] + words + ["--raw"])
    }

    @Test func theMendedRowsGoIn() async throws {
        try await Workplace.with { place in
            try await place.database.run(Self.table)
            let lines = [
                "id,\"name\",N", "1,a,1", "x,\"one\r\ntwo, \"\"three\"\"\",2", "3,b,3", "4,c",
                "5,\"d\"d,5", "6,e,y",
            ]
            try place.write(lines.joined(separator: "\r\n"), to: "in.csv")
            for batch in ["1", "1000"] {
                let job = try await load(place, ["in.csv", "--batch", batch])
                let result = try await raw(place, job)
                #expect(result.status == 0, "\(result.errors)")
                let bad = [0, 2, 4, 5, 6].map { lines[$0] }.joined(separator: "\r\n") + "\n"
                #expect(result.output == bad)
                let mended = bad.replacing("x,", with: "2,").replacing("4,c", with: "4,c,4")
                    .replacing("\"d\"d", with: "d").replacing(",y", with: ",6")
                try place.write(mended, to: "bad.csv")
                let again = try await load(place, ["bad.csv"])
                let empty = try await raw(place, again)
                #expect(empty.status == 0)
                #expect(empty.output == "")
                #expect(
                    try await place.database.rows("select id, name from t order by id") == [
                        ["1", "a"], ["2", "one\r\ntwo, \"three\""], ["3", "b"], ["4", "c"],
                        ["5", "d"], ["6", "e"],
                    ]
                )
                try await place.database.run("truncate t")
            }
        }
    }

    @Test(arguments: ["\n", "\r\n", "\r"])
    func lineEndsAreThoseOfTheFile(end: String) async throws {
        try await Workplace.with { place in
            try await place.database.run(Self.table)
            let text = ["id,n", "x,1", "2,2", "3,y", ""].joined(separator: end)
            try place.write(text, to: "in.csv")
            let job = try await load(place, ["in.csv"])
            let result = try await raw(place, job)
            #expect(result.output == ["id,n", "x,1", "3,y", ""].joined(separator: end))
        }
    }

    @Test func filesOfOneHeaderMakeOneFile() async throws {
        try await Workplace.with { place in
            try await place.database.run(Self.table)
            try place.write("id,n\n1,1\nx,2", to: "b.csv")
            try place.write("id,n\r\ny,3\r\n", to: "a.csv")
            try place.write("n,id\nz,4\n", to: "other.csv")
            let job = try await load(place, ["b.csv", "a.csv"])
            let one = try await raw(place, job)
            #expect(one.output == "id,n\nx,2\ny,3\r\n")
            let mixed = try await load(place, ["b.csv", "other.csv", "--on-conflict", "skip"])
            let refused = try await raw(place, mixed)
            #expect(refused.status == 1)
            #expect(refused.output == "")
            #expect(refused.errors.contains("different headers"), "\(refused.errors)")
            #expect(refused.errors.contains("other.csv"), "\(refused.errors)")
            let file = place.folder.resolvingSymlinksInPath().appending(path: "other.csv").path()
            let chosen = try await raw(place, mixed, "--file", file)
            #expect(chosen.output == "n,id\nz,4\n", "\(chosen.errors)")
            let none = try await raw(place, mixed, "--file", "nowhere")
            #expect(none.status == 1)
        }
    }

    @Test func linesOfJSONHaveNoHeader() async throws {
        try await Workplace.with { place in
            try await place.database.run(Self.table)
            try place.write(
                "{\"id\":1}\n{\"id\":2,\"zz\":[1]}\r\n\n {\"id\" : \"x\"}",
                to: "in.jsonl"
            )
            let job = try await load(place, ["in.jsonl"])
            let result = try await raw(place, job)
            #expect(result.output == "{\"id\":2,\"zz\":[1]}\r\n {\"id\" : \"x\"}\n")
        }
    }

    @Test func aRowThatWasCutIsNotWritten() async throws {
        try await Workplace.with { place in
            try await place.database.run(Self.table)
            let whole = String(repeating: "a", count: 65_534)
            try place.write("id,name\nx,\(whole)a\ny,\(whole)\nz,b\n", to: "in.csv")
            let job = try await load(place, ["in.csv"])
            let result = try await raw(place, job)
            #expect(result.status == 1)
            #expect(result.output == "id,name\ny,\(whole)\nz,b\n")
            #expect(result.errors.contains("in.csv:2: "), "\(result.errors)")
        }
    }

    @Test func anotherEncodingAndSkippedLinesAreSaid() async throws {
        try await Workplace.with { place in
            try await place.database.run(Self.table)
            let bytes = Array("about\nid,name\nx,".utf8) + [0x80, 0x0A]
            try Data(bytes).write(to: place.folder.appending(path: "in.csv"))
            let job = try await load(place, ["in.csv", "--encoding", "WIN1252", "--skip", "1"])
            let result = try await raw(place, job)
            #expect(result.output == "id,name\nx,€\n")
            #expect(result.errors.contains("without --encoding"))
            #expect(result.errors.contains("without --skip"))
        }
    }

    @Test func manyAreWrittenInTheirOrder() async throws {
        try await Workplace.with { place in
            try await place.database.run(Self.table)
            let rows = (1...5_000).map {
                $0 % 3 == 0 ? "\($0),a" : $0 % 3 == 1 ? "x\($0),1" : "\($0),1"
            }
            try place.write("id,n\n" + rows.joined(separator: "\n") + "\n", to: "in.csv")
            let job = try await load(place, ["in.csv"])
            let bad = rows.enumerated().filter { ($0.offset + 1) % 3 != 2 }.map(\.element)
            #expect(
                try await raw(place, job).output == "id,n\n" + bad.joined(separator: "\n") + "\n"
            )
        }
    }
}
