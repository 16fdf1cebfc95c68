internal import BulkheadJobs

/// Prints what a migration would do.
struct ForecastReport {
    let forecast: MigrationForecast
    let terminal: Terminal

    func print() throws {
        for step in forecast.steps { try print(step) }
        for note in forecast.notes { terminal.note("not copied: \(note)") }
        if forecast.steps.isEmpty { try terminal.result("nothing is left to run") }
    }

    private func print(_ step: MigrationForecast.Step) throws {
        try terminal.result("\(step.file) line \(step.line): \(step.kind)")
        for statement in step.statements {
            try terminal.result("  \(statement.line): \(shortened(statement.sql))")
            if let reason = statement.notTried { try terminal.result("     not tried: \(reason)") }
            for table in statement.tables { try terminal.result("     \(words(table))") }
            if !statement.recipe.isEmpty { try terminal.result("     better:") }
            for line in statement.recipe { try terminal.result("       \(line)") }
        }
        if let error = step.error {
            try terminal.result("  \(terminal.red("would fail")): \(error)")
        }
    }

    private func words(_ table: MigrationForecast.Table) -> String {
        var parts = ["\(table.table): \(table.lock ?? "no lock")"]
        if table.isRewritten { parts.append("rewritten") }
        if table.isScanned, !table.isRewritten { parts.append("scanned") }
        if !table.indexes.isEmpty {
            parts.append("builds \(table.indexes.joined(separator: ", "))")
        }
        parts.append("\(grouped(table.rows)) rows, \(grouped(table.bytes / 1_048_576)) MiB")
        let time = Duration.seconds(table.seconds).shown
        if let blocks = table.blocks {
            parts.append(terminal.red("blocks \(blocks) for about \(time)"))
        } else if table.seconds >= 0.05 {
            parts.append("about \(time)")
        }
        return parts.joined(separator: ", ")
    }

    private func shortened(_ sql: String) -> String {
        let line = sql.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return line.count <= 100 ? line : line.prefix(97) + "..."
    }
}
