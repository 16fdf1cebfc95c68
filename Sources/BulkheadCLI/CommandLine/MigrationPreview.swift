internal import Bulkhead
internal import BulkheadJobs
internal import FoundationEssentials
internal import Postgres

/// The dry run of a migration.
struct MigrationPreview {
    private let connection: Connection
    private let arguments: Arguments
    private let terminal: Terminal

    init(_ connection: Connection, _ arguments: Arguments, _ terminal: Terminal) {
        self.connection = connection
        self.arguments = arguments
        self.terminal = terminal
    }

    /// Tries the files in a scratch database, and prints what was seen.
    func print(_ files: [MigrationFile]) throws -> ExitStatus {
        let forecast = try forecast(files)
        if terminal.printsJSON {
            try terminal.result(try JSONText(encoding: forecast).text)
        } else {
            try ForecastReport(forecast: forecast, terminal: terminal).print()
        }
        let fails = forecast.steps.contains { $0.error != nil }
        return fails || arguments.has("--strict") && forecast.isBlocking ? .failed : .done
    }

    private func forecast(_ files: [MigrationFile]) throws -> MigrationForecast {
        let applied = try applied()
        let live = try Database.address(arguments)
        let scratch = try ScratchDatabase(of: live, connection)
        do {
            let settings = SessionSettings(applicationName: "bulkhead dry run")
            let trial = try MigrationTrial(
                live: connection,
                scratch: Connection(scratch.address, settings: settings)
            )
            var forecast = try trial.forecast(files, applied: applied)
            forecast.notes = scratch.notes
            try scratch.drop(connection)
            return forecast
        } catch {
            try scratch.drop(connection)
            throw error
        }
    }

    /// How many steps of each file are applied, by its number.
    private func applied() throws -> [String: Int] {
        let rows = try connection.query(
            "select version, steps_applied from bulkhead.migration_status where steps_applied > 0"
        )
        var applied: [String: Int] = [:]
        for row in 0..<rows.count {
            applied[try rows.required(row, 0)] = try rows.required(row, 1, as: Int.self)
        }
        return applied
    }
}
