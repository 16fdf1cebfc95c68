/// A five-character error code of the server, as PostgreSQL publishes them in its appendix A.
public struct SQLState: RawRepresentable, Hashable, Sendable {
    /// The five characters.
    public let rawValue: String

    /// Wraps a code.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The first two characters, which name the class of the error.
    public var errorClass: Substring { rawValue.prefix(2) }
}

extension SQLState {
    package static let connectionException = SQLState(rawValue: "08000")
    package static let connectionFailure = SQLState(rawValue: "08006")
    package static let cannotEstablishConnection = SQLState(rawValue: "08001")
    package static let activeTransaction = SQLState(rawValue: "25001")
    package static let readOnlyTransaction = SQLState(rawValue: "25006")
    package static let failedTransaction = SQLState(rawValue: "25P02")
    package static let idleInTransactionTimeout = SQLState(rawValue: "25P03")
    package static let transactionTimeout = SQLState(rawValue: "25P04")
    package static let featureNotSupported = SQLState(rawValue: "0A000")
    package static let invalidTextRepresentation = SQLState(rawValue: "22P02")
    package static let cardinalityViolation = SQLState(rawValue: "21000")
    package static let notNullViolation = SQLState(rawValue: "23502")
    package static let characterNotInRepertoire = SQLState(rawValue: "22021")
    package static let protocolViolation = SQLState(rawValue: "08P01")
    package static let restrictViolation = SQLState(rawValue: "23001")
    package static let foreignKeyViolation = SQLState(rawValue: "23503")
    package static let uniqueViolation = SQLState(rawValue: "23505")
    package static let checkViolation = SQLState(rawValue: "23514")
    package static let exclusionViolation = SQLState(rawValue: "23P01")
    package static let invalidPassword = SQLState(rawValue: "28P01")
    package static let undefinedDatabase = SQLState(rawValue: "3D000")
    package static let insufficientPrivilege = SQLState(rawValue: "42501")
    package static let undefinedTable = SQLState(rawValue: "42P01")
    package static let undefinedFunction = SQLState(rawValue: "42883")
    package static let invalidSchemaName = SQLState(rawValue: "3F000")
    package static let tooManyConnections = SQLState(rawValue: "53300")
    package static let deadlockDetected = SQLState(rawValue: "40P01")
    package static let lockNotAvailable = SQLState(rawValue: "55P03")
    package static let objectInUse = SQLState(rawValue: "55006")
    package static let queryCanceled = SQLState(rawValue: "57014")
    package static let adminShutdown = SQLState(rawValue: "57P01")
    package static let crashShutdown = SQLState(rawValue: "57P02")
    package static let cannotConnectNow = SQLState(rawValue: "57P03")
    package static let idleSessionTimeout = SQLState(rawValue: "57P05")
    package static let raiseException = SQLState(rawValue: "P0001")
    /// Ours: the feed no longer tells what has changed since a token.
    package static let tokenExpired = SQLState(rawValue: "BH001")
    /// Ours: the job, its attempt or the daemon's lease is no longer the caller's.
    package static let fenced = SQLState(rawValue: "BH002")
}

/// Matches a code against another, or a class (`08000`, `22000`, ...) against all of its members.
public func ~= (pattern: SQLState, value: SQLState?) -> Bool {
    value.map { pattern ~= $0 } ?? false
}

/// Matches a code against another, or a class against all of its members; for a code that is there the
/// standard library's own operator would be taken, which knows no classes.
public func ~= (pattern: SQLState, value: SQLState) -> Bool {
    if pattern.rawValue.hasSuffix("000") && pattern.errorClass == value.errorClass { return true }
    return pattern == value
}
