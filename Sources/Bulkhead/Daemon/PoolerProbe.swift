internal import Postgres

/// Finds out whether a pooler hands each transaction to another server process.
///
/// A worker cannot live with that: its locks, settings and notifications would be another
/// session's.
enum PoolerProbe {
    /// - Throws: When transactions of one session run in several server processes.
    static func refuseTransactionPooling(_ address: DatabaseAddress) throws {
        let settings = SessionSettings(applicationName: "bulkhead probe")
        let first = try Connection(address, settings: settings)
        let process = try serverProcess(of: first)
        // A pooler announces a number of its own.
        guard process != first.announcedProcessID else { return }
        let second = try Connection(address, settings: settings)
        try second.run(script: "begin")
        defer { withExtendedLifetime(second) {} }
        // While the second holds a server process, the first one keeps its own only if it is a session's.
        let other = try serverProcess(of: second)
        let again = try serverProcess(of: first)
        try second.rollback()
        if other == process || again != process {
            throw JobFailure(
                "\(address) is a pooler in transaction mode, which workers cannot use: "
                    + "give them the server's own address, or one in session mode"
            )
        }
    }

    private static func serverProcess(of connection: Connection) throws -> Int32 {
        try connection.query("select pg_backend_pid()").required(0, 0)
    }
}
