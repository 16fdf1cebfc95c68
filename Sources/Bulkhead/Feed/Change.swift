/// One change of the feed: which rows of a table a transaction touched.
public struct Change: Sendable, Hashable {
    /// Grows from change to change of one writer.
    public let id: Int64
    /// The table's schema-qualified name, quoted where SQL needs it; of a partition, the table that it
    /// belongs to.
    public let relation: String
    /// What was done to the rows.
    public let operation: Batch.Operation
    /// A JSON array of primary keys; nil tells readers to read the table again.
    public let ids: JSONText?
    /// The job that did it; nil for anybody else.
    public let job: Int64?
    /// When its transaction began, as `2025-01-02T03:04:05.678901Z`.
    public let at: String
    /// The place in the feed after this change, from which a later reader goes on.
    public let token: String
}
