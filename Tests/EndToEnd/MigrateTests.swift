import BulkheadTesting
import Foundation
import Postgres
import Testing

@Suite struct MigrateTests {
    @Test func aDirectoryIsAppliedAndShown() async throws {
        try await Workplace.with { place in
            try place.write("create table a (n int);", to: "1_a.sql")
            try place.write("-- bulkhead: concurrently\ncreate index on a (n);", to: "2_index.sql")
            try place.write("read me", to: "README.md")
            let program = place.program
            let daemon = try program.start("worker")
            let applied = try await program.run("migrate", ".", "--wait")
            #expect(applied.status == 0, "\(applied.errors)")
            #expect(applied.output == "1\n")
            #expect(applied.errors.contains("README.md is not read: its name does not end in .sql"))
            try place.write("create table c ();", to: "3_c.sql")
            let status = try await program.run("migrate", ".", "--status", "--quiet")
            #expect(status.status == 0)
            let lines = status.output.split(separator: "\n").map(String.init)
            #expect(lines.count == 4)
            #expect(lines[1].hasPrefix("1       1_a.sql      applied  1/1"))
            #expect(lines[3].hasPrefix("3       3_c.sql      to come"))
            let json = try await program.run("migrate", "--status", "--json")
            #expect(json.output.contains(#""file": "2_index.sql""#))
            daemon.send(SIGTERM)
            #expect(await daemon.end() == 0)
        }
    }

    @Test func whatIsWrongIsRefusedBeforeAnythingIsEnqueued() async throws {
        try await Workplace.with { place in
            try place.write("select 1;\ncommit;", to: "1_a.sql")
            let program = place.program
            let wrong = try await program.run("migrate", "1_a.sql")
            #expect(wrong.status == 2)
            #expect(
                wrong.errors.hasPrefix(
                    "bulkhead: 1_a.sql line 2: the step is one transaction already"
                )
            )
            #expect(try await program.run("migrate").status == 2)
            #expect(try await program.run("migrate", "none").status == 2)
            try place.write("select 1;", to: "1_a.sql")
            for options in [
                ["--to", "2"], ["--strict"],
                ["--max-block", "1"],
            ] {
                let refused = try await program.run(["migrate", "1_a.sql"] + options)
                #expect(refused.status == 2, "\(options) \(refused.errors)")
            }
            #expect(try await place.database.value("select count(*) from bulkhead.job") == "0")
        }
    }

    @Test func aFailureNamesFileAndLineAndTheMendedFileGoesOn() async throws {
        try await Workplace.with { place in
            let first = "create table a (n int);\n-- bulkhead: transaction\n"
            try place.write(first + "insert into a values ('x');", to: "1_a.sql")
            let program = place.program
            let daemon = try program.start("worker")
            let failed = try await program.run("migrate", "1_a.sql", "--wait")
            #expect(failed.status == 1)
            #expect(
                failed.errors.contains("1_a.sql line 3: invalid input syntax for type integer"),
                "\(failed.errors)"
            )
            let status = try await program.run("migrate", "1_a.sql", "--status")
            #expect(status.output.contains("failed"))
            try place.write(first + "insert into a values (1);", to: "1_a.sql")
            let mended = try await program.run("migrate", "1_a.sql", "--wait")
            #expect(mended.status == 0, "\(mended.errors)")
            #expect(try await place.database.value("select count(*) from a") == "1")
            daemon.send(SIGTERM)
            #expect(await daemon.end() == 0)
        }
    }
}
