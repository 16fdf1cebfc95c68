import BulkheadTesting
import Foundation
import Postgres
import Testing

/// `bulkhead import --dry-run`: tells what an import would do, and does nothing.
@Suite struct DryRunTests {
    static let table =
        "create table t (id int primary key, name text); insert into t values (1, 'one')"
    static let file = "ID,name,colour\n1,eins,red\n2,zwei,red\nx,drei,red\n"

    private static func run(_ place: Workplace, _ options: String...) async throws -> Program.Result
    {
        try place.write(Self.file, to: "f.csv")
        let worker = try place.program.start("worker")
        let words = [
            "import", "t", "f.csv", "--dry-run", "--map", "colour=", "--on-conflict", "update",
        ]
        let result = try await place.program.run(words + options)
        worker.send(SIGTERM)
        _ = await worker.end()
        return result
    }

    @Test func theMappingTheFiguresAndTheFirstBadRowsArePrinted() async throws {
        try await Workplace.with { place in
            try await place.database.run(Self.table)
            let result = try await Self.run(place, "--max-rejects", "1")
            #expect(result.status == 0, "\(result.errors)")
            let lines = result.output.split(separator: "\n").map(String.init)
            #expect(lines.count == 7, "\(result.output)")
            #expect(lines.prefix(1) == ["1"])
            #expect(lines.dropFirst().first?.hasSuffix("f.csv:") == true)
            #expect(
                lines.dropFirst(2).prefix(3)
                    == ["  ID -> id", "  name -> name", "  colour -> (left out)"]
            )
            #expect(
                lines.dropFirst(5).first?.hasPrefix(
                    "would be: 3 read, 1 inserted, 1 updated, 1 rejected"
                ) == true
            )
            #expect(
                lines.last?.contains(
                    "f.csv:4: invalid input syntax for type integer: \"x\", column id"
                ) == true
            )
            #expect(try await place.database.rows("select * from t") == [["1", "one"]])
        }
    }

    @Test func badRowsThatAreNotAllowedFailIt() async throws {
        try await Workplace.with { place in
            try await place.database.run(Self.table)
            let result = try await Self.run(place)
            #expect(result.status == 1)
            #expect(result.errors.contains("1 of 3 rows would be rejected"), "\(result.errors)")
            #expect(result.output.contains("would be: 3 read"), "\(result.output)")
        }
    }
}
