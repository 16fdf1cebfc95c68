/// The result of a query at one moment, and how it differs from the one before.
public struct LiveSnapshot<Row: Sendable & Equatable>: Sendable {
    /// The rows, in the query's order.
    public let rows: [Row]
    /// What tells each row from all others: its primary key as the feed writes it.
    ///
    /// Of a statement of one's own the text of its key column; without a key the row's whole text.
    public let ids: [RowID]
    /// What has become of the snapshot that the same iterator gave before; of the first, of no rows.
    public let difference: LiveDifference
}
