internal import Postgres

/// Lists daemons.
enum DaemonsVerb: Verb {
    static let name = "daemons"
    static let summary = "List daemons, and whether they are alive"
    static let synopsis = ""
    static let options: [Option] = []
    static let example = "bulkhead daemons"

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        guard arguments.operands.isEmpty else {
            throw UsageError("daemons takes no \(arguments.operands[0])")
        }
        return try await Database.use(arguments) { connection in
            try connection.transaction { try list($0, terminal) }
            return .done
        }
    }

    private static func list(_ connection: Connection, _ terminal: Terminal) throws {
        let rows = try connection.query(
            """
            select host, pid::text, case when alive then 'alive' else 'gone' end,
                running || ' of ' || workers, array_to_string(queues, ','),
                array_to_string(kinds, ','), version,
                date_trunc('second', started_at)::text, to_jsonb(d)::text
            from bulkhead.daemon_status d order by alive desc, started_at, id
            """
        )
        try TextTable.print(
            rows,
            ["HOST", "PID", "STATE", "JOBS", "QUEUES", "KINDS", "VERSION", "STARTED"],
            nothing: "no daemons: start one with `bulkhead worker`",
            terminal
        )
    }
}
