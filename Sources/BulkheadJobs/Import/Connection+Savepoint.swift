internal import Postgres

extension Connection {
    /// Runs the closure so that its failure undoes no more than its own work.
    ///
    /// - Throws: What the closure threw.
    func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
        try run(script: "savepoint bulkhead")
        let result: Result
        do {
            result = try body()
        } catch {
            if !isLost {
                try run(script: "rollback to savepoint bulkhead; release savepoint bulkhead")
            }
            throw error
        }
        try run(script: "release savepoint bulkhead")
        return result
    }

    /// Runs the closure inside an open transaction, and takes back what it did.
    func takingBack<Result>(_ body: () throws -> Result) throws -> Result {
        try run(script: "savepoint bulkhead")
        let result = try body()
        try run(script: "rollback to savepoint bulkhead; release savepoint bulkhead")
        return result
    }
}
