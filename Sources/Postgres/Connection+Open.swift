internal import CLibPQ
internal import Glibc

extension Connection {
    /// Connects within a time limit.
    ///
    /// The library libpq gives no SQLSTATE for a refused connection but inside a
    /// verbose message, so it is read from there; that works in any language of the server.
    static func connect(
        _ address: DatabaseAddress,
        timeout: Duration
    ) throws(PostgresError) -> OpaquePointer {
        guard let handle = start(address) else {
            throw PostgresError(
                state: nil,
                message: "out of memory while connecting",
                kind: .transient
            )
        }
        do throws(PostgresError) {
            PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
            try finish(handle, address, deadline: .now + timeout)
            return handle
        } catch {
            PQfinish(handle)
            throw error
        }
    }

    private static func start(_ address: DatabaseAddress) -> OpaquePointer? {
        let options: [(String, String)] = [
            ("keepalives", "1"), ("keepalives_idle", "10"), ("keepalives_interval", "5"),
            ("keepalives_count", "3"), ("tcp_user_timeout", "30000"),
            ("fallback_application_name", "bulkhead"),
            // After what is only a proposal, so that what the user wrote into the address wins.
            ("dbname", address.connectionString),
            // After the address: all text goes in and out as UTF-8, whatever it says.
            ("client_encoding", "UTF8"),
        ]
        let keywords = options.map { strdup($0.0) }
        let values = options.map { strdup($0.1) }
        defer { for copy in keywords + values { free(copy) } }
        let keywordPointers = keywords.map { UnsafePointer($0) } + [nil]
        let valuePointers = values.map { UnsafePointer($0) } + [nil]
        return PQconnectStartParams(keywordPointers, valuePointers, 1)
    }

    private static func finish(
        _ handle: OpaquePointer,
        _ address: DatabaseAddress,
        deadline: ContinuousClock.Instant
    ) throws(PostgresError) {
        var step = PGRES_POLLING_WRITING
        while PQstatus(handle) != CONNECTION_BAD {
            switch step {
            case PGRES_POLLING_OK: return
            case PGRES_POLLING_FAILED: throw refusal(of: handle, address)
            case PGRES_POLLING_READING: try wait(for: handle, POLLIN, address, deadline)
            default: try wait(for: handle, POLLOUT, address, deadline)
            }
            step = PQconnectPoll(handle)
        }
        throw refusal(of: handle, address)
    }

    private static func wait(
        for handle: OpaquePointer,
        _ events: Int32,
        _ address: DatabaseAddress,
        _ deadline: ContinuousClock.Instant
    ) throws(PostgresError) {
        var descriptor = pollfd(fd: PQsocket(handle), events: Int16(events), revents: 0)
        let left = deadline - .now
        let milliseconds = left / .milliseconds(1)
        if milliseconds > 0, poll(&descriptor, 1, Int32(milliseconds.rounded(.up))) != 0 { return }
        guard deadline <= .now else { return }
        throw PostgresError(
            state: .cannotEstablishConnection,
            message:
                "no answer from \(address) in time; is the server running, and is a firewall between?",
            kind: .unavailable
        )
    }

    private static func refusal(of handle: OpaquePointer, _ address: DatabaseAddress)
        -> PostgresError
    {
        var message = oneLine(String(cString: PQerrorMessage(handle)))
        // Before the password goes, which may be a part of a code.
        let state = sqlState(in: message)
        if let password = address.password, !password.isEmpty {
            message.replace(password, with: "***")
        }
        if let location = message.firstRange(of: "; LOCATION:") {
            message = String(message[..<location.lowerBound])
        }
        return PostgresError(state: state, message: message, kind: kind(of: state))
    }

    /// The code in `FATAL:  28P01: password authentication failed`, the last server's where several
    /// were tried.
    private static func sqlState(in message: String) -> SQLState? {
        // Every code has a digit, and no word for FATAL has one. What follows a code is not taken along:
        // it may be in front of the next one.
        let codes = message.matches(of: /:\s+([0-9A-Z]{5})(?=:\s)/).map(\.output.1)
        return codes.last { $0.contains(where: \.isNumber) }.map { SQLState(rawValue: String($0)) }
    }

    private static func kind(of state: SQLState?) -> PostgresError.Kind {
        // Without a code no server answered: refused, not resolved, not there.
        guard let state else { return .unavailable }
        let kind = PostgresError.Kind(state)
        return kind == .connectionLost || kind == .transient ? .unavailable : kind
    }
}
