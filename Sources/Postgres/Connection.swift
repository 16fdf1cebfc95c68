internal import CLibPQ
internal import Glibc

/// One session with the server.
///
/// It belongs to the actor or function that opened it and never leaves it.
///
/// Calls block: an actor that owns a connection runs on a `ExecutorThread`.
public final class Connection {
    let handle: OpaquePointer
    private let canceller: Canceller
    private let settings: SessionSettings

    /// Opens a session and sets what it relies on.
    ///
    /// - Parameters:
    ///   - address: Where to connect.
    ///   - settings: What the session relies on.
    ///   - canceller: Cancels the session's statements from elsewhere; its own when not given.
    ///   - timeout: The longest time that opening may take.
    /// - Throws: `unavailable` when the server cannot be reached or takes no connections, `permission`
    ///   when it refuses the role, `permanent` for anything that trying again does not mend.
    public init(
        _ address: DatabaseAddress,
        settings: SessionSettings,
        canceller: Canceller = Canceller(),
        timeout: Duration = .seconds(10)
    ) throws(PostgresError) {
        handle = try Self.connect(address, timeout: timeout)
        self.canceller = canceller
        self.settings = settings
        PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
        PQsetNoticeReceiver(handle, { _, _ in }, nil)
        canceller.attach(handle)
        if !settings.isLocal { try query(settings.statement) }
    }

    deinit {
        canceller.detach(handle)
        PQfinish(handle)
    }

    /// The process id that the server, or a pooler in its place, gave for this session.
    public var announcedProcessID: Int32 { PQbackendPID(handle) }

    /// Whether the session has ended.
    public var isLost: Bool { PQstatus(handle) == CONNECTION_BAD }

    /// Whether a transaction is open, failed ones included.
    public var isInTransaction: Bool {
        let status = PQtransactionStatus(handle)
        return status == PQTRANS_INTRANS || status == PQTRANS_INERROR
    }

    /// Runs one statement and returns its rows.
    ///
    /// - Throws: What the server answered; `connectionLost` when it is not known whether it was done.
    @discardableResult
    public func query(_ sql: SQL) throws(PostgresError) -> Rows {
        try sql.requireNoNUL()
        try canceller.begin()
        defer { canceller.end() }
        let result = withParameters(of: sql) { count, values in
            PQexecParams(handle, sql.text, count, nil, values, nil, nil, 0)
        }
        return Rows(try checked(result))
    }

    /// Runs several statements without parameters in one round trip, and returns the last one's rows.
    ///
    /// Outside an open transaction the server runs them in one.
    @discardableResult
    public func run(script: String) throws(PostgresError) -> Rows {
        try SQL(unsafe: script).requireNoNUL()
        try canceller.begin()
        defer { canceller.end() }
        return Rows(try checked(PQexec(handle, script)))
    }

    /// Runs statements one after another in one round trip, and returns the last one's rows.
    ///
    /// The first that fails ends the series; its error is thrown.
    @discardableResult
    public func pipeline(_ statements: [SQL]) throws(PostgresError) -> Rows {
        for statement in statements { try statement.requireNoNUL() }
        try canceller.begin()
        defer { canceller.end() }
        guard PQenterPipelineMode(handle) == 1 else { throw connectionError() }
        var refusal: PostgresError?
        for statement in statements where refusal == nil {
            let sent = withParameters(of: statement) { count, values in
                PQsendQueryParams(handle, statement.text, count, nil, values, nil, nil, 0)
            }
            if sent != 1 { refusal = connectionError() }
        }
        guard PQpipelineSync(handle) == 1 else { throw connectionError() }
        let rows = try endPipeline()
        // libpq itself refused a statement: those before it were run.
        if let refusal { throw refusal }
        return rows
    }

    /// Runs the closure in a transaction, which is committed when it returns and rolled back when it throws.
    ///
    /// - Throws: What the closure or the server threw; also when the closure returned although one of its
    ///   statements had failed, since the server then commits nothing.
    public func transaction<Result>(
        _ body: (Connection) throws -> Result
    ) throws -> Result {
        try begin()
        do {
            let result = try body(self)
            guard PQtransactionStatus(handle) != PQTRANS_INERROR else {
                throw PostgresError(
                    state: .failedTransaction,
                    message: "a statement of the transaction had failed: nothing was committed"
                )
            }
            try run(script: "commit")
            return result
        } catch {
            try rollback()
            throw error
        }
    }

    private func begin() throws(PostgresError) {
        guard settings.isLocal else {
            try run(script: "begin")
            return
        }
        // Said in the statement itself: the settings come too late for the transaction they are made in.
        do throws(PostgresError) {
            try pipeline([
                "begin isolation level read committed read write", settings.statement,
            ])
        } catch {
            // A standby, which can be read.
            guard error.state == .featureNotSupported else { throw error }
            try pipeline(["begin isolation level read committed", settings.statement])
        }
    }

    /// Makes the session what it was when it was opened, whatever statements of others have set in it.
    ///
    /// Locks that it holds stay.
    ///
    /// - Throws: What the server answered.
    public func restoreSettings() throws(PostgresError) {
        try run(script: "reset session authorization; reset role; reset all")
        try query(settings.statement)
    }

    /// Ends an open transaction without its changes; does nothing when none is open or the session is lost.
    public func rollback() throws(PostgresError) {
        guard !isLost, isInTransaction else { return }
        // Not through the canceller: a rollback must run after a cancel as well.
        _ = Rows(try checked(PQexec(handle, "rollback")))
    }

    // MARK: Results

    func beginStatement() throws(PostgresError) { try canceller.begin() }

    func endStatement() { canceller.end() }

    /// Takes over a result, and throws what it says when it is an error.
    func checked(_ result: OpaquePointer?) throws(PostgresError) -> OpaquePointer? {
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
            return result
        case PGRES_COPY_IN, PGRES_COPY_OUT:
            PQclear(result)
            abandonCopy()
            throw .misuse("a COPY from stdin or to stdout needs copyIn or copyOut")
        default:
            defer { PQclear(result) }
            throw error(of: result)
        }
    }

    func connectionError() -> PostgresError {
        let message = oneLine(String(cString: PQerrorMessage(handle)))
        // What libpq refuses by itself, too many parameters for instance, leaves the session as it was.
        // A socket that failed while it was written to is known to be lost only once it is read.
        if !isLost, PQconsumeInput(handle) == 1, !isLost { return .misuse(message) }
        return .lost(message.isEmpty ? "the connection to the server was lost" : message)
    }

    private func endPipeline() throws(PostgresError) -> Rows {
        var last: OpaquePointer?
        var failure: PostgresError?
        while true {
            guard let result = PQgetResult(handle) else {
                // The end of one statement's results; a lost connection gives no sync.
                if isLost { break }
                continue
            }
            let status = PQresultStatus(result)
            if status == PGRES_PIPELINE_SYNC {
                PQclear(result)
                break
            } else if status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK
                || status == PGRES_EMPTY_QUERY
            {
                PQclear(last)
                last = result
            } else if status == PGRES_COPY_IN || status == PGRES_COPY_OUT {
                // libpq cannot end a COPY in a pipeline, so the session ends.
                PQclear(result)
                shutdown(PQsocket(handle), Int32(SHUT_RDWR))
                failure = failure ?? .misuse("a pipeline cannot hold a COPY")
                break
            } else {
                if failure == nil { failure = error(of: result) }
                PQclear(result)
            }
        }
        if !isLost, PQexitPipelineMode(handle) != 1 { failure = failure ?? connectionError() }
        if failure == nil, isLost { failure = connectionError() }
        if let failure {
            PQclear(last)
            throw failure
        }
        return Rows(last)
    }

    private func error(of result: OpaquePointer?) -> PostgresError {
        guard let result, let code = field(BULKHEAD_DIAG_SQLSTATE, of: result) else {
            return connectionError()
        }
        let message = field(BULKHEAD_DIAG_MESSAGE, of: result) ?? ""
        var error = PostgresError(state: SQLState(rawValue: code), message: message)
        error.detail = field(BULKHEAD_DIAG_DETAIL, of: result)
        error.hint = field(BULKHEAD_DIAG_HINT, of: result)
        error.context = field(BULKHEAD_DIAG_CONTEXT, of: result)
        error.schema = field(BULKHEAD_DIAG_SCHEMA, of: result)
        error.table = field(BULKHEAD_DIAG_TABLE, of: result)
        error.column = field(BULKHEAD_DIAG_COLUMN, of: result)
        error.constraint = field(BULKHEAD_DIAG_CONSTRAINT, of: result)
        return error
    }

    private func field(_ code: Int, of result: OpaquePointer) -> String? {
        PQresultErrorField(result, Int32(code)).map { String(cString: $0) }
    }

    func withParameters<Result>(
        of sql: SQL,
        _ body: (Int32, UnsafePointer<UnsafePointer<CChar>?>?) -> Result
    ) -> Result {
        guard !sql.values.isEmpty else { return body(0, nil) }
        let copies = sql.values.map { value in value.flatMap { strdup($0) } }
        defer { for copy in copies { free(copy) } }
        let pointers = copies.map { UnsafePointer($0) }
        return pointers.withUnsafeBufferPointer { body(Int32(pointers.count), $0.baseAddress) }
    }
}

func oneLine(_ text: String) -> String {
    text.split(whereSeparator: \.isNewline).map { $0.drop(while: \.isWhitespace) }.joined(
        separator: "; "
    )
}
