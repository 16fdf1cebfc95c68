/// What the dry run of a purge found.
struct PurgePreviewReport: Decodable {
    private let condition: String
    private let rows: Int64
    private let batches: Int64
    private let tables: [Walked]
    private let statement: String?
    private let plan: [String]
    private let references: [Referring]
    private let archive: Kept?
    private let problems: [String]

    private struct Walked: Decodable {
        let table: String
        let way: String
    }

    private struct Referring: Decodable {
        let table: String
        let constraint: String
        let on_delete: String
        let indexed: Bool
        let tracked: Bool
    }

    private struct Kept: Decodable {
        let place: String
        let also_from: [String]
    }

    func print(_ terminal: Terminal) throws {
        try terminal.result("rows where \(condition)")
        try terminal.result("about \(grouped(rows)) rows in about \(grouped(batches)) batches")
        for walked in tables { try terminal.result("  \(walked.table): \(walked.way)") }
        if !references.isEmpty { try terminal.result("referred to by:") }
        for reference in references {
            let index = reference.indexed ? "" : ", without an index"
            let feed = reference.tracked ? ", tracked" : ""
            try terminal.result(
                "  \(reference.table) by \(reference.constraint), on delete \(reference.on_delete)\(index)\(feed)"
            )
        }
        if let archive {
            let others =
                archive.also_from.isEmpty
                ? "" : ", also what goes in \(archive.also_from.joined(separator: ", "))"
            try terminal.result("archive: \(archive.place)\(others)")
        }
        try terminal.result("plan:")
        for line in plan { try terminal.result("  \(line)") }
        if let statement {
            try terminal.result("the first batch:")
            for line in statement.split(separator: "\n") { try terminal.result("  \(line)") }
        }
        for problem in problems { try terminal.result("would be refused: \(problem)") }
    }
}
