import BulkheadTesting
import Postgres

extension TestDatabase {
    /// What the feed has, without its order among rows of one statement.
    func changes() async throws -> [String] {
        try await rows(
            """
            select relation || ' ' || operation || ' ' || coalesce((
                select jsonb_agg(i order by i)::text from jsonb_array_elements(ids) i), 'null')
            from bulkhead.change order by id
            """
        ).compactMap { $0[0] }
    }
}
