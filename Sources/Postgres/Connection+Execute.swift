internal import CLibPQ

extension Connection {
    /// Runs one statement and lets go of its rows one by one: however many there are, none is kept.
    ///
    /// - Returns: How many rows it inserted, updated, deleted or returned.
    /// - Throws: What the server answered; `connectionLost` when it is not known whether it was done.
    @discardableResult
    public func execute(_ sql: SQL) throws(PostgresError) -> Int {
        try sql.requireNoNUL()
        try beginStatement()
        defer { endStatement() }
        let sent = withParameters(of: sql) { count, values in
            PQsendQueryParams(handle, sql.text, count, nil, values, nil, nil, 0)
        }
        guard sent == 1, PQsetSingleRowMode(handle) == 1 else { throw connectionError() }
        return try finishStatement()
    }

    /// Takes what is left of a statement's results.
    ///
    /// Rows that come one by one are let go of.
    ///
    /// - Returns: How many rows it inserted, updated, deleted, copied or returned.
    @discardableResult
    func finishStatement() throws(PostgresError) -> Int {
        var affected = 0
        var failure: PostgresError?
        while let result = PQgetResult(handle) {
            guard PQresultStatus(result) != PGRES_SINGLE_TUPLE else {
                PQclear(result)
                continue
            }
            do throws(PostgresError) {
                affected = Rows(try checked(result)).affected
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        if isLost { throw connectionError() }
        return affected
    }
}
