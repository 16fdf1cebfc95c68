internal import FoundationEssentials
public import Postgres

extension DatabaseAddress {
    /// The address that a user gave, else the one in the environment.
    ///
    /// - Parameter given: What was given; empty counts as nothing.
    /// - Returns: It, or else BULKHEAD_DATABASE_URL, DATABASE_URL, or what libpq finds by itself.
    /// - Throws: When the address cannot be read.
    public static func ofEnvironment(unless given: String? = nil) throws -> DatabaseAddress {
        let environment = ProcessInfo.processInfo.environment
        let candidates = [
            given, environment["BULKHEAD_DATABASE_URL"], environment["DATABASE_URL"],
        ]
        return try DatabaseAddress(candidates.compactMap { $0 }.first { !$0.isEmpty } ?? "")
    }
}
