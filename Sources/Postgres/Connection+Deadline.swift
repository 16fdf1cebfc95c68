internal import CLibPQ
internal import Glibc

extension Connection {
    /// Runs one statement without holding the owner's thread, and no longer than a time.
    ///
    /// A socket whose other end is gone without a word is found out by the deadline; a blocking call would wait
    /// for as long as the system believes in it.
    ///
    /// - Throws: What the server answered; `connectionLost` when nothing came in time or the task was
    ///   cancelled, and then the session has ended.
    public func query(
        _ sql: SQL,
        on thread: ExecutorThread,
        until deadline: ContinuousClock.Instant,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(PostgresError) -> Rows {
        try sql.requireNoNUL()
        try beginStatement()
        defer { endStatement() }
        let sent = withParameters(of: sql) { count, values in
            PQsendQueryParams(handle, sql.text, count, nil, values, nil, nil, 0)
        }
        guard sent == 1 else { throw connectionError() }
        var last: OpaquePointer?
        while true {
            while PQisBusy(handle) == 1 {
                try await waitForAnswer(on: thread, until: deadline, isolation: isolation)
            }
            guard let result = PQgetResult(handle) else { return Rows(try checked(last)) }
            PQclear(last)
            last = result
        }
    }

    private func waitForAnswer(
        on thread: ExecutorThread,
        until deadline: ContinuousClock.Instant,
        isolation: isolated (any Actor)?
    ) async throws(PostgresError) {
        let reason = await thread.wait(
            readable: PQsocket(handle),
            until: deadline,
            isolation: isolation
        )
        switch reason {
        case .readable:
            guard PQconsumeInput(handle) == 1 else { throw connectionError() }
        case .woken where !Task.isCancelled && .now < deadline:
            return
        case .woken, .deadline:
            end()
            throw .lost("no answer from the server in time")
        }
    }

    /// Ends the session at once: what is still under way has no answer that anyone waits for.
    private func end() {
        shutdown(PQsocket(handle), Int32(SHUT_RDWR))
        _ = PQconsumeInput(handle)
    }
}
