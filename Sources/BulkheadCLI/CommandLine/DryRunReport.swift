internal import Bulkhead
internal import Postgres

/// What a dry run found: how the files fit the table, what would become of their rows, and the first bad ones.
struct DryRunReport: Decodable {
    private let mapping: [Mapping]?

    private struct Mapping: Decodable {
        let file: String
        let columns: [Field]
    }

    private struct Field: Decodable {
        let field: String
        let column: String?
    }

    private static let firstRejects = 10

    /// Prints the report of a job that has ended.
    static func print(_ job: Int64, _ connection: Connection, _ terminal: Terminal) throws {
        let status = try JobStatus.find(job, connection)
        // A job that failed before its first row has none.
        guard let result = status.result else { return }
        if status.kind == "purge" {
            try JSONText(result).decode(PurgePreviewReport.self).print(terminal)
            return
        }
        let report: DryRunReport = try JSONText(result).decode()
        for mapping in report.mapping ?? [] {
            try terminal.result("\(mapping.file):")
            for field in mapping.columns {
                let name = field.field.isEmpty ? "(no name)" : field.field
                try terminal.result("  \(name) -> \(field.column ?? "(left out)")")
            }
        }
        try terminal.result("would be: \(status.summary)")
        try connection.transaction { connection in
            let rows = try connection.query(
                """
                select \(RejectLine.columns) from bulkhead.reject where job = \(job)
                order by id limit \(firstRejects)
                """
            )
            for row in 0..<rows.count {
                try terminal.result(try RejectLine.text(rows, row, from: 0))
            }
        }
    }
}
