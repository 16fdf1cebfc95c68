/// What the server, libpq or this module answered instead of a result.
public struct PostgresError: Error, Sendable {
    /// The server's code; nil when libpq failed before the server could answer.
    public var state: SQLState?
    /// The message, in the server's language, on one line.
    public var message: String
    /// The server's DETAIL.
    public var detail: String?
    /// The server's HINT.
    public var hint: String?
    /// The server's CONTEXT.
    public var context: String?
    /// The schema of the object that the error is about.
    public var schema: String?
    /// The table that the error is about.
    public var table: String?
    /// The column that the error is about.
    public var column: String?
    /// The constraint that was violated.
    public var constraint: String?
    /// What can be done about it.
    public var kind: Kind

    /// What can be done about an error.
    public enum Kind: Sendable, Equatable {
        /// The connection is gone, or the server is going down; what was sent last may have been done.
        case connectionLost
        /// The server cannot be reached, takes no connections, or takes no writes at present.
        case unavailable
        /// The same statement may well succeed when it is tried again.
        case transient
        /// Someone cancelled the statement, or its time ran out.
        case cancelled
        /// A unique or exclusion constraint was violated.
        case conflict
        /// The server refused a value or a row.
        case badData
        /// The role may not do this, or may not log in.
        case permission
        /// The job is no longer the caller's.
        case fenced
        /// Anything else; trying again does not help.
        case permanent
    }

    /// Makes an error whose kind follows from its code.
    public init(state: SQLState?, message: String, kind: Kind? = nil) {
        self.state = state
        self.message = message
        self.kind = kind ?? Kind(state)
    }

    static func lost(_ message: String) -> PostgresError {
        PostgresError(state: .connectionFailure, message: message, kind: .connectionLost)
    }

    static func misuse(_ message: String) -> PostgresError {
        PostgresError(state: nil, message: message, kind: .permanent)
    }
}

extension PostgresError.Kind {
    /// The kind of a code, from the classes of PostgreSQL's appendix A.
    public init(_ state: SQLState?) {
        switch state {
        case .connectionException, .adminShutdown, .crashShutdown, .idleInTransactionTimeout,
            .transactionTimeout, .idleSessionTimeout:
            self = .connectionLost
        case .cannotConnectNow, .tooManyConnections, .readOnlyTransaction:
            self = .unavailable
        case .queryCanceled:
            self = .cancelled
        case .uniqueViolation, .exclusionViolation:
            self = .conflict
        case .insufficientPrivilege, SQLState(rawValue: "28000"):
            self = .permission
        case .fenced:
            self = .fenced
        // Transaction rollback, insufficient resources, object not in the needed state.
        case SQLState(rawValue: "40000"), SQLState(rawValue: "53000"), .lockNotAvailable,
            .objectInUse:
            self = .transient
        // Data exception, integrity constraint, WITH CHECK OPTION, a trigger's RAISE.
        case SQLState(rawValue: "22000"), SQLState(rawValue: "23000"), SQLState(rawValue: "44000"),
            .raiseException:
            self = .badData
        default:
            self = .permanent
        }
    }
}

extension PostgresError: CustomStringConvertible {
    /// The message with its detail, hint and code, on one line.
    public var description: String {
        var text = message
        if let detail { text += " (\(detail))" }
        if let hint { text += "; \(hint)" }
        if let state { text += " [SQLSTATE \(state.rawValue)]" }
        return text.split(whereSeparator: \.isNewline).joined(separator: " ")
    }
}
