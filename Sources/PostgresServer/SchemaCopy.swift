internal import FoundationEssentials

/// Copies what pg_dump knows of a database's schema into an empty database of the same server, without a row.
public enum SchemaCopy {
    /// Copies a schema.
    ///
    /// - Parameters:
    ///   - environment: The variables by which libpq's programs find the server and the database.
    ///   - database: The empty database.
    /// - Returns: What could not be copied, in the words of psql; a role that may not make everything is no
    ///   failure.
    /// - Throws: A ``PostgresServerError`` when the schema cannot be dumped at all.
    public static func run(
        environment: [String: String],
        into database: String
    ) throws -> [String] {
        let folder = FileManager.default.temporaryDirectory.path(percentEncoded: false)
        let file = "\(folder)/bulkhead-\(UUID().uuidString).sql"
        var variables = ProcessInfo.processInfo.environment
        for (name, value) in environment { variables[name] = value }
        variables["BULKHEAD_FILE"] = file
        variables["BULKHEAD_SCRATCH"] = database
        variables["PGAPPNAME"] = "bulkhead dry run"
        // The newest programs first: pg_dump must not be older than the server.
        variables["PATH"] = ([newest(variables)] + [variables["PATH"]]).compactMap(\.self).joined(
            separator: ":"
        )
        let script = """
            umask 077
            trap 'rm -f "$BULKHEAD_FILE"' EXIT
            pg_dump --schema-only --no-owner --no-privileges --no-publications --no-subscriptions \
                --no-security-labels --file "$BULKHEAD_FILE" || { echo BULKHEAD_FAILED; exit; }
            PGDATABASE="$BULKHEAD_SCRATCH" psql --no-psqlrc --quiet --output /dev/null --file "$BULKHEAD_FILE" \
                || echo BULKHEAD_FAILED
            """
        let output = try Spawn.output(
            of: ["/bin/sh", "-c", "exec 2>&1\n\(script)"],
            environment: variables
        )
        let lines = output.split(separator: "\n").map(String.init)
        guard lines.last != "BULKHEAD_FAILED" else {
            throw PostgresServerError(
                "the schema cannot be copied by pg_dump and psql: "
                    + lines.dropLast().joined(separator: "; ")
            )
        }
        return lines.filter { $0.contains("ERROR:") || $0.contains("FATAL:") }.map { line in
            line.firstRange(of: "ERROR:").map { String(line[$0.upperBound...].drop { $0 == " " }) }
                ?? line
        }
    }

    /// The folder of a server's programs on this machine; nil where there is none, as on one that only has
    /// clients.
    private static func newest(_ environment: [String: String]) -> String? {
        do {
            return try Binaries.find(environment: environment).directory
        } catch {
            return nil
        }
    }
}
