internal import Postgres

/// Finds out whether a pooler hands each transaction to another server process.
///
/// A worker cannot live with that: its locks, settings and notifications would be another
/// session's.
enum PoolerProbe {
    /// - Throws: When transactions of one session run in several server processes.
    static func refuseTransactionPooling(_ address: DatabaseAddress) throws {
        if try handsOutTransactions(address) {
            throw JobFailure(
                "\(address) is a pooler in transaction mode, which workers cannot use: "
                    + "give them the server's own address, or one in session mode"
            )
        }
    }

    /// Whether the server process of one session serves another one between two transactions.
    static func handsOutTransactions(_ address: DatabaseAddress) throws -> Bool {
        let settings = SessionSettings(applicationName: "bulkhead probe", isLocal: true)
        let first = try Connection(address, settings: settings)
        let process = try serverProcess(of: first)
        // A pooler announces a number of its own.
        guard process != first.announcedProcessID else { return false }
        let second = try Connection(address, settings: settings)
        try second.run(script: "begin")
        defer { withExtendedLifetime(second) {} }
        // The first one's: it may be the pool's only one, so the first one could not ask again.
        if try serverProcess(of: second) == process { return true }
        // While the second holds a server process, the first one keeps its own only if it is a session's.
        let again = try serverProcess(of: first)
        try second.rollback()
        return again != process
    }

    private static func serverProcess(of connection: Connection) throws -> Int32 {
        try connection.query("select pg_backend_pid()").required(0, 0)
    }
}
