internal import Postgres

/// The feed no longer tells what has changed since a token.
///
/// Take the present token, read the tables again, and go on from it.
public struct TokenExpired: Error, Sendable, CustomStringConvertible {
    /// Why, as the server says it.
    public let reason: String

    init(_ error: PostgresError) {
        reason = error.detail ?? error.message
    }

    /// What to do, and why.
    public var description: String {
        "token expired: read the tables again, then start from now (\(reason))"
    }
}
