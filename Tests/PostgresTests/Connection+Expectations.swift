import Testing

@testable import Postgres

extension Connection {
    /// Expects that the session is usable and in no transaction.
    func expectUsable(_ location: SourceLocation = #_sourceLocation) throws {
        let one: Int? = try query("select 1").value(0, 0)
        let last: Int? = try pipeline(["select 1", "select 2"]).value(0, 0)
        #expect(one == 1, sourceLocation: location)
        #expect(last == 2, sourceLocation: location)
        #expect(!isInTransaction && !isLost, sourceLocation: location)
    }
}
