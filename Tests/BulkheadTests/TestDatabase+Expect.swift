import BulkheadTesting
import Postgres
import Testing

extension TestDatabase {
    /// Expects that the first value of a query is this.
    func expect(
        _ query: SQL,
        _ expected: String?,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let value = try await value(query)
        #expect(value == expected, sourceLocation: location)
    }
}
