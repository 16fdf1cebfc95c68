public import Postgres

/// A batch's transaction, lent to the handler while it is open.
public struct Batch {
    /// The worker's connection, inside the transaction.
    public let connection: Connection
    let job: Int64

    /// Records the ids that the batch touched, for the readers of the feed.
    ///
    /// Where the table is tracked, its triggers have recorded them already, and this does nothing but for
    /// a reset.
    ///
    /// - Parameters:
    ///   - operation: What was done to the rows.
    ///   - relation: The table's schema-qualified name.
    ///   - ids: A JSON array of primary keys; nil tells readers to read the table again.
    /// - Throws: What the server says.
    public func publish(_ operation: Operation, of relation: String, ids: JSONText?) throws {
        try connection.query(
            """
            select bulkhead.publish(\(relation), \(operation.rawValue), \(ids), \(job))
            where \(operation == .reset) or bulkhead.is_tracked(to_regclass(\(relation))) is not true
            """
        )
    }

    /// What was done to rows.
    public enum Operation: String, Sendable {
        case insert, update, delete, reset
    }
}
