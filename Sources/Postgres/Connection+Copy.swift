internal import CLibPQ

extension Connection {
    /// Sends data to a `copy ... from stdin` statement.
    ///
    /// - Parameters:
    ///   - sql: The COPY statement.
    ///   - body: Writes the data. When it throws, the COPY is ended without effect.
    /// - Returns: The number of rows that the server took.
    /// - Throws: What the server answered, or what the closure threw.
    @discardableResult
    public func copyIn(_ sql: SQL, _ body: (borrowing CopyWriter) throws -> Void) throws -> Int {
        try beginCopy(sql, PGRES_COPY_IN)
        defer { endStatement() }
        do {
            try body(CopyWriter(connection: self))
        } catch {
            // The server's own error says more than a socket that it closed.
            _ = PQputCopyEnd(handle, "the client gave up")
            let answer = Result { () throws(PostgresError) in try finishStatement() }
            if case .failure(let failure) = answer, failure.kind != .cancelled, isLost {
                throw failure
            }
            throw error
        }
        guard PQputCopyEnd(handle, nil) == 1 else { throw connectionError() }
        return try finishStatement()
    }

    /// Receives the data of a `copy ... to stdout` statement, one row of the format at a time.
    public func copyOut(_ sql: SQL, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        try beginCopy(sql, PGRES_COPY_OUT)
        defer { endStatement() }
        var failure: (any Error)?
        while true {
            var buffer: UnsafeMutablePointer<CChar>?
            let length = PQgetCopyData(handle, &buffer, 0)
            if length == -2 { failure = failure ?? connectionError() }
            guard length >= 0 else { break }
            defer { PQfreemem(buffer) }
            // After a failure the rest is still read, so that the session can go on.
            guard failure == nil else { continue }
            do {
                try body(UnsafeRawBufferPointer(start: buffer, count: Int(length)))
            } catch {
                failure = error
            }
        }
        // The server's own error says more than a socket that it closed.
        try finishStatement()
        if let failure { throw failure }
    }

    /// Starts a COPY; on a failure the statement is over.
    private func beginCopy(_ sql: SQL, _ direction: ExecStatusType) throws(PostgresError) {
        try sql.requireNoNUL()
        guard sql.values.isEmpty else { throw .misuse("a COPY statement takes no parameters") }
        try beginStatement()
        let result = PQexec(handle, sql.text)
        if PQresultStatus(result) == direction {
            PQclear(result)
            return
        }
        defer { endStatement() }
        PQclear(try checked(result))
        throw .misuse("the statement is not a COPY of the right direction")
    }

    /// Ends a COPY that nobody is going to work off.
    func abandonCopy() {
        _ = PQputCopyEnd(handle, "nobody writes to this COPY")
        var buffer: UnsafeMutablePointer<CChar>?
        while PQgetCopyData(handle, &buffer, 0) > 0 { PQfreemem(buffer) }
        while let result = PQgetResult(handle) {
            let status = PQresultStatus(result)
            PQclear(result)
            if status == PGRES_COPY_IN || status == PGRES_COPY_OUT { abandonCopy() }
        }
    }
}

/// Writes the data of one COPY.
public struct CopyWriter: ~Copyable {
    let connection: Connection

    /// Sends bytes; a row may be split anywhere.
    ///
    /// - Throws: `connectionLost` when the server is gone.
    public func write(_ bytes: UnsafeRawBufferPointer) throws(PostgresError) {
        // libpq copies what it is given, and counts in 32 bits.
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = UnsafeRawBufferPointer(rebasing: rest.prefix(1 << 16))
            rest = rest.dropFirst(part.count)
            let status = PQputCopyData(
                connection.handle,
                part.assumingMemoryBound(to: CChar.self).baseAddress,
                Int32(part.count)
            )
            guard status == 1 else { throw connection.connectionError() }
        }
    }

    /// Sends the bytes of an array.
    public func write(_ bytes: [UInt8]) throws(PostgresError) {
        let span = bytes.span.bytes
        try span.withUnsafeBytes { (buffer) throws(PostgresError) -> Void in try write(buffer) }
    }
}
