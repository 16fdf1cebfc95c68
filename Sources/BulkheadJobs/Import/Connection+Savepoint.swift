internal import Postgres

extension Connection {
    /// Runs the closure so that its failure undoes no more than its own work.
    ///
    /// - Throws: What the closure threw.
    func savepoint(_ body: () throws -> Void) throws {
        try run(script: "savepoint bulkhead")
        do {
            try body()
        } catch let error as PostgresError where !isLost {
            try run(script: "rollback to savepoint bulkhead; release savepoint bulkhead")
            throw error
        }
        try run(script: "release savepoint bulkhead")
    }
}
