import BulkheadTesting
import Foundation
import Postgres
import Testing

@testable import BulkheadJobs

/// The examples of docs/migrate.md run as they stand there.
@Suite struct WorkedExampleTests {
    struct Example: Sendable, CustomTestStringConvertible {
        let title: String
        /// What stands behind `sql` at the head of a block, and the block.
        let blocks: [(name: String, text: String)]
        var testDescription: String { title }
    }

    static var examples: [Example] {
        get throws {
            let page = URL(fileURLWithPath: #filePath).appendingPathComponent(
                "../../../../docs/migrate.md"
            ).standardized
            let text = try String(contentsOf: page, encoding: .utf8)
            return text.components(separatedBy: "\n### ").compactMap { section in
                let blocks = section.components(separatedBy: "\n```sql ").dropFirst().map { block in
                    let lines = block.components(separatedBy: "\n```")[0].components(
                        separatedBy: "\n"
                    )
                    return (lines[0], lines.dropFirst().joined(separator: "\n"))
                }
                guard !blocks.isEmpty else { return nil }
                return Example(
                    title: section.components(separatedBy: "\n")[0],
                    blocks: Array(blocks)
                )
            }
        }
    }

    @Test func eachRunsAndDoesWhatItSays() async throws {
        let examples = try Self.examples
        #expect(
            examples.map(\.title) == [
                "Split a table", "Merge columns", "Transform values, with new keys",
            ]
        )
        for example in examples {
            try await MigrationScene.with { scene in
                for (name, text) in example.blocks where name == "given" {
                    try await scene.database.run(text)
                }
                try await scene.apply(
                    example.blocks.filter { $0.name.hasSuffix(".sql") }.map { ($0.name, $0.text) }
                )
                let checks = try example.blocks.filter { $0.name == "then" }
                    .flatMap { try StatementSplitter.statements($0.text) }
                #expect(!checks.isEmpty)
                for check in checks {
                    try await scene.expect(SQL(unsafe: check.text), "t")
                }
            }
        }
    }
}
