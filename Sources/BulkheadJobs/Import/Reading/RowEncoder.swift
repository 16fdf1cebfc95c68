/// Writes records as lines of PostgreSQL's text format for COPY.
protocol RowEncoder: Sendable {
    /// Appends the record's line; or nothing, when it returns a problem.
    mutating func encode(_ record: borrowing Record, into output: inout [UInt8]) -> RecordProblem?

    /// What a field of the record that was encoded last says; nil where there is nothing.
    func value(at field: Int, of record: borrowing Record) -> [UInt8]?

    /// The positions of the columns that the record that was encoded last says nothing of.
    var missing: [UInt16] { get }
}
